"""From a document to the artifacts it is kept as, and back from their ids.

The id of a part holds the name, the version and the number: ids of one document stand together,
those of one version in the order of the text. A version is the bytes and all that decides how they
are cut, so the same import gives the same ids.
"""

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from acc_ace.memory.chunking import chunks
from acc_ace.memory.documents.document_records import records
from acc_ace.schemas.artifact import Artifact, ArtifactKind
from acc_ace.schemas.authority import Authority
from acc_ace.schemas.document import DocumentForm, DocumentPart
from acc_ace.schemas.tenancy import SessionKey, Tenant

ANY_DOCUMENT = "part:"
"""What the ids of all parts begin with."""

_AFTER_COLON = ";"
"""The character after ':', so that it stands behind all ids with a prefix."""


class Version(NamedTuple):
    """One version of one document, as it stands in ids."""

    document: str
    version: str

    @property
    def prefix(self) -> str:
        """What the ids of its parts begin with."""
        return f"{ANY_DOCUMENT}{self.document}:{self.version}:"

    @property
    def behind(self) -> str:
        """A text that sorts after the ids of its parts, and before those of any other."""
        return self.prefix[:-1] + _AFTER_COLON

    def part_id(self, number: int) -> str:
        """Id of a part; ids sort as their numbers do."""
        return f"{self.prefix}{number:08d}"

    def group(self, tenant: Tenant) -> SessionKey:
        """The session its parts are kept under, so that they go together."""
        return SessionKey(*tenant, f"document:{self.document}:{self.version}")


class Part(NamedTuple):
    """A piece of a document's text."""

    text: str
    record: str | None = None
    source: str | None = None
    expires_at: datetime | None = None


def document_key(name: str) -> str:
    """What stands for the name in ids."""
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:16]


def version_of(name: str, digest: str, *how: object) -> Version:
    """The version of a document: its bytes, and how they are read and cut."""
    seed = "\n".join(map(str, (digest, *how)))
    return Version(document_key(name), hashlib.sha256(seed.encode()).hexdigest()[:16])


def version_in(artifact_id: str) -> Version | None:
    """The version that an id names, or None when it is no id of a part."""
    if not artifact_id.startswith(ANY_DOCUMENT):
        return None
    pieces = artifact_id.split(":")
    return Version(pieces[1], pieces[2]) if len(pieces) == 4 else None


def parts_of(
    text: Iterable[str], form: DocumentForm, *, name: str, max_tokens: int
) -> Iterator[Part]:
    """The parts of a document, in order. Raises InputError for a bad record."""
    if form is DocumentForm.TEXT:
        yield from map(Part, chunks(text, max_tokens=max_tokens))
        return
    for _, record in records(text, name=name):
        for piece in chunks([record.content], max_tokens=max_tokens):
            yield Part(piece, record.id, record.source, record.expires_at)


def part_artifact(
    part: Part, place: DocumentPart, version: Version, tenant: Tenant, *, at: datetime
) -> Artifact:
    """The artifact of a part. It is data of a document: it can set no rule."""
    return Artifact(
        artifact_id=version.part_id(place.part),
        content=part.text,
        source=part.source or f"{place.name}, part {place.part} of {place.parts}",
        created_at=at,
        tenant=tenant,
        kind=ArtifactKind.DOCUMENT,
        authority=Authority.RETRIEVED,
        session=version.group(tenant).session,
        turn=place.part,
        expires_at=part.expires_at,
        document=place,
    )
