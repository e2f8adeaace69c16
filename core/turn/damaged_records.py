"""A session whose record cannot be read is deleted all the same, and what outlives it is found."""

import logging
from collections.abc import AsyncIterator

from core.container import Container
from core.domain.session_notes import source_of
from core.errors import CorruptStoreError
from core.ports.artifact_listing import ArtifactListing
from schemas.artifact import Artifact, ArtifactKind
from schemas.session import SessionRecord
from schemas.tenancy import SessionKey

logger = logging.getLogger(__name__)


async def record_to_delete(container: Container, key: SessionKey) -> SessionRecord | None:
    """The record of a session that is deleted with consent; a damaged one begins anew.

    It names the notes that already outlive the session, as others that will do so must be named.
    Raises StoreError. The caller holds the session.
    """
    try:
        return await container.directory.find(key)
    except CorruptStoreError as error:
        logger.warning("session_record_begun_anew session=%r: %s", key.session, error)
    notes = [note async for note in outliving_notes(container, key)]
    notes.sort(key=lambda note: note.created_at)
    now = container.clock.now()
    await container.directory.erase(key.tenant, key.session)
    record = await container.directory.open(key, at=now, memory=container.settings.memory)
    await container.directory.offloaded(key, at=now, notes=[note.artifact_id for note in notes])
    return record


async def outliving_notes(container: Container, key: SessionKey) -> AsyncIterator[Artifact]:
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
