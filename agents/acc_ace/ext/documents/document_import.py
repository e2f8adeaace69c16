"""Import documents into a user's external memory.

A document is read twice: once to see that all of it is text and how many parts it has, once to
store the parts, in batches. The parts of an older version go when the new ones are all there. So
an interrupted import keeps the last complete version, and the next one resumes it.
"""

import asyncio
import hashlib
import unicodedata
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import closing
from itertools import islice
from typing import NamedTuple, Protocol, TypeVar

from acc_ace.container import Container
from acc_ace.core.schemas.artifact import DocumentForm, DocumentPart, ImportedDocument
from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.text.input_checks import check_key
from acc_ace.core.text.redaction import mask_secrets
from acc_ace.errors import ConflictError, InputError, InputTooLargeError
from acc_ace.ext.documents.document_catalog import artifacts_to_list, document_lock, versions
from acc_ace.ext.documents.document_files import DocumentSource, decode
from acc_ace.ext.documents.document_parts import (
    Edition,
    Part,
    part_artifact,
    parts_of,
    version_of,
)
from acc_ace.memory.artifact_store import ArtifactStore
from acc_ace.unit_of_work import Write

T = TypeVar("T")


class _Hash(Protocol):
    def update(self, block: bytes, /) -> None: ...


BATCH = 64
"""Parts stored at once."""

Progress = Callable[[int, int], None]
"""Called after each batch: parts stored, parts of the document."""

_MAX_NAME = 1_024
_PLACED = "jsonl, placed"
"""Records are stored with who said them where; those of before are replaced by a new import."""


def no_progress(_stored: int, _parts: int) -> None:
    """Report nothing."""


async def import_document(
    container: Container,
    tenant: Tenant,
    source: DocumentSource,
    *,
    reported: Progress = no_progress,
) -> ImportedDocument:
    """Store a document as parts with provenance; idempotent.

    A changed one replaces what is stored under its name. Memory stays flat however long it is.
    Raises InputError for what is no text or empty, InputTooLargeError over a limit,
    SessionBusyError while the same name is being imported, ConflictError when the document
    changed or its user was erased meanwhile, StoreError.
    """
    _check_name(source.name)
    check_key(SessionKey(*tenant, "documents"))
    is_there = await container.erasure.presence(tenant)
    limits = container.settings.limits
    masks = container.settings.mask_secrets
    reading = _Reading(source, limits, await _digest(source, limits), masks)
    check_key(reading.version.group(tenant))
    async with document_lock(container, tenant, source.name):
        known = await _parts_if_whole(container.artifacts, tenant, reading.version)
        if known is None:
            parts, stored = await _store(container, tenant, reading, is_there, reported)
        else:
            parts, stored = known, 0
        removed = await _remove_others(container, tenant, reading.version)
    return ImportedDocument(
        name=source.name, digest=reading.digest, parts=parts, stored=stored, removed=removed
    )


class _Reading(NamedTuple):
    """A document as it is read: its bytes must be those of the digest every time."""

    source: DocumentSource
    limits: Limits
    digest: str
    masks: bool
    """Whether recognised secrets are masked."""

    @property
    def version(self) -> Edition:
        source = self.source
        form = _PLACED if source.form is DocumentForm.JSONL else source.form
        how = (form, source.encoding, source.lenient, self.limits.part_tokens)
        return version_of(source.name, self.digest, *how)

    def parts(self) -> Iterator[Part]:
        """Its parts; ConflictError at the end when its bytes are others by now."""
        source = self.source
        digest = hashlib.sha256()
        with closing(source.blocks()) as blocks:
            text = decode(
                _hashed(blocks, digest),
                name=source.name,
                encoding=source.encoding,
                lenient=source.lenient,
            )
            parts = parts_of(
                text, source.form, name=source.name, max_tokens=self.limits.part_tokens
            )
            for part in parts:
                yield part._replace(text=mask_secrets(part.text)) if self.masks else part
        if digest.hexdigest() != self.digest:
            raise ConflictError(f"{source.name} changed while it was being read; import it again")


async def _store(
    container: Container, tenant: Tenant, reading: _Reading, is_there: Write, reported: Progress
) -> tuple[int, int]:
    """(parts of the document, parts written now). What an earlier import stored stays."""
    name, store, version = reading.source.name, container.artifacts, reading.version
    count = await _count(reading)
    at = container.clock.now()
    done = stored = 0
    async for batch in _batches(reading.parts()):
        artifacts = [
            part_artifact(
                part,
                DocumentPart(name=name, digest=reading.digest, part=number, parts=count),
                version,
                tenant,
                at=at,
            )
            for number, part in enumerate(batch, start=done + 1)
        ]
        # Batches are stored in order and each as a whole: so the last part proves those before it.
        if await store.get(tenant, artifacts[-1].artifact_id) is None:
            work = container.unit_of_work()
            work.add(is_there)
            work.add(store.add_write(artifacts))
            await work.commit()
            stored += len(artifacts)
        done += len(artifacts)
        reported(done, count)
    return count, stored


async def _digest(source: DocumentSource, limits: Limits) -> str:
    digest = hashlib.sha256()
    size = 0
    with closing(source.blocks()) as blocks:
        async for batch in _batches(blocks):
            for block in batch:
                digest.update(block)
                size += len(block)
            if size > limits.document_bytes:
                raise InputTooLargeError(
                    f"{source.name} is over {limits.document_bytes} bytes; split it, or raise "
                    "ACC_ACE_LIMITS__DOCUMENT_BYTES"
                )
    return digest.hexdigest()


async def _count(reading: _Reading) -> int:
    """Count the parts of the document, so that an invalid one fails before anything is stored."""
    name, most = reading.source.name, reading.limits.document_parts
    count = 0
    async for batch in _batches(reading.parts()):
        count += len(batch)
        if count > most:
            raise InputTooLargeError(
                f"{name} has over {most} parts; split it, or raise ACC_ACE_LIMITS__DOCUMENT_PARTS"
            )
    if not count:
        raise InputError(f"{name} is empty: there is nothing to store")
    return count


async def _parts_if_whole(store: ArtifactStore, tenant: Tenant, version: Edition) -> int | None:
    """The number of parts when memory holds every one of them."""
    first = await store.get(tenant, version.part_id(1))
    if first is None or first.document is None:
        return None
    parts = first.document.parts
    last = await store.get(tenant, version.part_id(parts))
    return parts if last is not None else None


async def _remove_others(container: Container, tenant: Tenant, current: Edition) -> int:
    removed = 0
    listing = artifacts_to_list(container.artifacts)
    async for version, _ in versions(listing, tenant, document=current.document):
        if version != current:
            group = version.group(tenant).session
            removed += await container.artifacts.erase(tenant, group)
    return removed


async def _batches(items: Iterable[T]) -> AsyncIterator[list[T]]:
    """Items in batches; other tasks run between two of them."""
    iterator = iter(items)
    while batch := list(islice(iterator, BATCH)):
        yield batch
        await asyncio.sleep(0)


def _hashed(blocks: Iterable[bytes], into: "_Hash") -> Iterator[bytes]:
    for block in blocks:
        into.update(block)
        yield block


def _is_printable(name: str) -> bool:
    # A Japanese keyboard types U+3000 for a space.
    return all(sign.isprintable() or unicodedata.category(sign) == "Zs" for sign in name)


def _check_name(name: str) -> None:
    if not name or len(name) > _MAX_NAME or not _is_printable(name):
        raise InputError(
            f"a document name must have 1 to {_MAX_NAME} printable characters, not {name[:80]!r}"
        )
