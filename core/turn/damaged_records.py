"""A session whose record cannot be read is deleted all the same, and what outlives it is found."""

import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Final

from core.container import Container
from core.domain.session_notes import source_of
from core.domain.session_record import begun_anew
from core.errors import CorruptStoreError
from core.ports.artifact_listing import ArtifactListing
from schemas.artifact import Artifact, ArtifactKind
from schemas.job import JobKind, job_id
from schemas.session import SessionRecord
from schemas.tenancy import SessionKey

logger = logging.getLogger(__name__)

_EVER: Final = datetime.min.replace(tzinfo=UTC)
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


async def record_to_delete(container: Container, key: SessionKey) -> SessionRecord | None:
    """The record of a session that is deleted with consent; a damaged one begins anew.

    It names the notes that already outlive the session, as others that will do so must be named,
    and those of them that it has from earlier sessions of its name. Raises StoreError. The caller
    holds the session.
    """
    try:
        return await container.directory.find(key)
    except CorruptStoreError as error:
        logger.warning("session_record_begun_anew session=%r: %s", key.session, error)
    notes = [note async for note in _outliving_notes(container, key)]
    notes.sort(key=lambda note: note.created_at)
    since = await _own_since(container, key)
    record = begun_anew(
        key.session,
        at=container.clock.now(),
        memory=container.settings.memory,
        notes=[note.artifact_id for note in notes],
        left=[note.artifact_id for note in notes if note.created_at < since],
    )
    await container.directory.renew(key, record)
    return record


async def own_notes(container: Container, key: SessionKey) -> AsyncIterator[Artifact]:
    """The notes that a session, whose record cannot be read, let outlive it. Raises StoreError.

    A deletion with consent did so. They were made since the session began, as that deletion knows
    it; all are taken for such where it cannot be read either.
    """
    since = await _own_since(container, key)
    async for note in _outliving_notes(container, key):
        if note.created_at >= since:
            yield note


async def _own_since(container: Container, key: SessionKey) -> datetime:
    try:
        job = await container.jobs.find(job_id(JobKind.DELETE, key))
    except CorruptStoreError:
        return _EVER
    if job is None:
        return _NEVER
    return job.session_began or _EVER


async def _outliving_notes(container: Container, key: SessionKey) -> AsyncIterator[Artifact]:
    """The notes of a session that outlive it, by where they say they come from.

    None of a store that cannot list what it has. Raises StoreError.
    """
    store = container.artifacts
    after: str | None = None
    while isinstance(store, ArtifactListing) and (
        page := await store.page(key.tenant, after=after)
    ):
        for note in page:
            if (note.kind, note.source, note.session) == (ArtifactKind.NOTE, source_of(key), None):
                yield note
        after = page[-1].artifact_id
