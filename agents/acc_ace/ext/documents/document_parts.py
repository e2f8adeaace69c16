"""Convert a document to the artifacts that store it, and read their ids.

A JSONL document is read one record a line.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from pydantic import ValidationError

from acc_ace.core.schemas.artifact import (
    Artifact,
    ArtifactKind,
    DocumentForm,
    DocumentPart,
    DocumentRecord,
)
from acc_ace.core.schemas.base import Authority, SessionKey, Tenant
from acc_ace.core.text.exchange import bare
from acc_ace.errors import InputError
from acc_ace.memory.chunking import chunks
from acc_ace.memory.ranking import ANY_DOCUMENT, IN_SESSION

MAX_LINE = 4 * 1024 * 1024
"""Characters of one line."""


class Line(NamedTuple):
    """A record, and the number of its line, from 1."""

    number: int
    record: DocumentRecord


def records(blocks: Iterable[str], *, name: str) -> Iterator[Line]:
    """The records of a document, in order; blank lines are passed over.

    Raises InputError that names the document and the line: for what is no JSON object, has no
    text, uses an id twice, is longer than MAX_LINE or no valid Unicode.
    """
    first: dict[str, int] = {}
    for number, text in enumerate(_lines(blocks, name), start=1):
        if not text.strip():
            continue
        record = _record(text, f"{name}, line {number}")
        if record.id is not None and first.setdefault(record.id, number) != number:
            raise InputError(
                f"{name}, line {number}: id '{record.id}' is also on line {first[record.id]}; "
                "give each record its own id"
            )
        yield Line(number, record)


def _lines(blocks: Iterable[str], name: str) -> Iterator[str]:
    """Lines end at a line feed alone: JSON allows other separators inside a text."""
    started: list[str] = []
    size = count = 0
    for block in blocks:
        first, *rest = block.split("\n")
        for piece in rest:
            yield "".join([*started, first])
            count += 1
            started, size, first = [], 0, piece
        started.append(first)
        size += len(first)
        if size > MAX_LINE:
            raise InputError(f"{name}, line {count + 1} is longer than {MAX_LINE} characters")
    yield "".join(started)


def _record(text: str, where: str) -> DocumentRecord:
    try:
        record = DocumentRecord.model_validate(json.loads(text))
        "\n".join((record.content, record.id or "", _origin(record))).encode()
    except ValidationError as error:
        problem = error.errors()[0]
        field = ".".join(str(part) for part in problem["loc"])
        raise InputError(f"{where}: {f'{field}: ' if field else ''}{problem['msg']}") from error
    except UnicodeEncodeError as error:
        raise InputError(f"{where} holds half of a surrogate pair, not valid text") from error
    except (ValueError, RecursionError) as error:
        # Depth and length are the interpreter's to bound; its message would not help.
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "beyond measure"
        raise InputError(f"{where} is not JSON ({reason})") from error
    return record


_AFTER_COLON = ";"
"""The character after ':', so that it sorts after all ids with a prefix."""


class Edition(NamedTuple):
    """One version of one document, as encoded in ids."""

    document: str
    version: str

    @property
    def prefix(self) -> str:
        """Prefix of the ids of its parts."""
        return f"{ANY_DOCUMENT}{self.document}:{self.version}:"

    @property
    def behind(self) -> str:
        """A text that sorts after the ids of its parts and before those of any other."""
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
    record: DocumentRecord | None = None
    """The record that it is of (JSONL)."""


def document_key(name: str) -> str:
    """A name of any form and length as encoded in ids."""
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:16]


def version_of(name: str, digest: str, *how: object) -> Edition:
    """The version of a document: its bytes, and how they are read and cut."""
    seed = "\n".join(map(str, (digest, *how)))
    return Edition(document_key(name), hashlib.sha256(seed.encode()).hexdigest()[:16])


def version_in(artifact_id: str) -> Edition | None:
    """The version that an id names, or None when it is no id of a part."""
    if not artifact_id.startswith(ANY_DOCUMENT):
        return None
    pieces = artifact_id.split(":")
    return Edition(pieces[1], pieces[2]) if len(pieces) == 4 else None


def parts_of(
    text: Iterable[str], form: DocumentForm, *, name: str, max_tokens: int
) -> Iterator[Part]:
    """The parts of a document, in order. Raises InputError for a bad record."""
    if form is DocumentForm.TEXT:
        yield from map(Part, chunks(text, max_tokens=max_tokens))
        return
    for _, record in records(text, name=name):
        for piece in chunks([record.content], max_tokens=max_tokens):
            yield Part(piece, record)


def part_artifact(
    part: Part, place: DocumentPart, version: Edition, tenant: Tenant, *, at: datetime
) -> Artifact:
    """The artifact of a part. It is data of a document: it can set no rule.

    What is of a conversation stands in a session of it, below the document's group.
    """
    record = part.record or DocumentRecord(content=part.text)
    speaker = _speaker(record)
    group = version.group(tenant).session
    turn = None if record.session is None else record.turn
    return Artifact(
        artifact_id=version.part_id(place.part),
        content=f"{speaker}: {part.text}" if speaker else part.text,
        source=_origin(record) or f"{place.name}, part {place.part} of {place.parts}",
        created_at=record.at or at,
        tenant=tenant,
        kind=ArtifactKind.DOCUMENT,
        authority=Authority.RETRIEVED,
        session=f"{group}{IN_SESSION}{document_key(record.session)}" if record.session else group,
        turn=place.part if turn is None else turn,
        expires_at=record.expires_at,
        document=place.model_copy(
            update={"record": record.id, "imported_at": at if record.at else None}
        ),
    )


def _origin(record: DocumentRecord) -> str:
    """Where a record is from, as quotations say it: its source, who said it, session, turn."""
    session = record.session and f"session {record.session}"
    turn = None if record.turn is None else f"turn {record.turn}"
    return ", ".join(filter(None, (record.source, _speaker(record), session, turn)))


def _speaker(record: DocumentRecord) -> str | None:
    """Who says it; whoever has the name of a role of ours is none of those that speak here."""
    name = record.speaker
    return f"{name} (imported)" if name and bare(f"{name}:") != f"{name}:" else name
