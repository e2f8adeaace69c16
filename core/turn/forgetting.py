"""Delete what the stores keep of a session, or of turns that were undone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from core.container import Container
from core.errors import CorruptStoreError
from core.turn.damaged_records import own_notes
from schemas.artifact import Artifact
from schemas.job import JobKind, job_id
from schemas.session import SessionRecord
from schemas.tenancy import SessionKey


async def forget_undone(container: Container, key: SessionKey, turn: int) -> None:
    """Forget the notes that rest on turns later than `turn`, which were undone.

    A new session of the user no longer begins with them, and recall no longer finds them. Raises
    StoreError.
    """
    record = await container.directory.find(key)
    undone: list[str] = []
    for name in record.notes if record else ():
        note = await container.artifacts.get(key.tenant, name)
        if note is not None and note.session == key.session and (note.turn or 0) > turn:
            undone.append(name)
    if undone:
        await container.directory.forget_notes(key, undone)
    await container.artifacts.retire(key, turn)


async def knows_session(container: Container, key: SessionKey) -> bool:
    """Whether a store has a state, turns or the record of a session, readable or not.

    Raises StoreError.
    """
    return (
        await container.journal.head(key) is not None
        or await _has_record(container, key, damaged=True)
        or bool(await container.evidence.list(key, limit=1))
    )


async def forget_session(container: Container, key: SessionKey) -> int:
    """Delete state, turns, artifacts, files and record of a session; how many. Raises StoreError.

    Calling it again deletes what an earlier call that failed has left. The caller holds the
    session.
    """
    deleted = await forget_words(container, key, keep_notes=False)
    # The record last: while anything is left, the session is still there to be deleted again.
    return deleted + await forget_record(container, key, keep_notes=False)


async def forget_words(container: Container, key: SessionKey, *, keep_notes: bool) -> int:
    """Delete all of a session but its record; how many. Raises StoreError.

    Notes that outlive the session are no longer its own, and stay. Wherever it fails, the session
    goes on with its state: its turns are undone, so that nothing writes their words to memory
    again, no summary of them is shown, and no reset of theirs hides new ones. After the last step,
    what is said under that name begins another session.
    """
    known = await _has_record(container, key, damaged=False)
    if known:
        await container.directory.unsummarise(key)
    await container.evidence.mark_undone(key, 0)
    # First what other sessions could recall.
    deleted = await container.artifacts.erase(key.tenant, key.session)
    deleted += await container.evidence.erase(key.tenant, key.session)
    deleted += await container.files.erase(key.tenant, key.session)
    if known:
        # Once more: a summary that was begun meanwhile has read the turns.
        await container.directory.unsummarise(key, history_from=0)
    deleted += await container.journal.erase(key.tenant, key.session)
    if known:
        await container.directory.ended(key, keep_notes=keep_notes)
    return deleted


async def forget_record(container: Container, key: SessionKey, *, keep_notes: bool) -> int:
    """Delete the record of a session, readable or not; how many. Raises StoreError.

    With `keep_notes` the directory goes on to know its notes.
    """
    try:
        if await container.directory.find(key) is None:
            return 0
    except CorruptStoreError:
        return await container.directory.erase(key.tenant, key.session)
    await container.directory.delete(key, at=container.clock.now(), keep_notes=keep_notes)
    return 1


async def withdraw_consent(container: Container, key: SessionKey) -> None:
    """Let a deletion with consent that failed keep nothing, and end it. Raises StoreError.

    Its notes are the session's own again, to be deleted with it. Those that an earlier session of
    the name left stay as they are. The caller holds the session, and deletes it now.
    """
    if not await is_begun(container, key):
        return
    try:
        record = await _record(container, key)
        notes = _named_notes(container, key, record)
    except CorruptStoreError:
        record, notes = None, own_notes(container, key)
    async for note in notes:
        await container.artifacts.add([note.model_copy(update={"session": key.session})])
    if record and record.deleted_at is not None:
        await container.directory.delete(key, at=container.clock.now(), keep_notes=False)
    # Done again, it would keep what is left of the words.
    await container.jobs.finish(job_id(JobKind.DELETE, key))


async def is_begun(container: Container, key: SessionKey) -> bool:
    """Whether a deletion with consent was begun and is not done. Raises StoreError."""
    try:
        return await container.jobs.find(job_id(JobKind.DELETE, key)) is not None
    except CorruptStoreError:
        return True  # It need not be readable to be withdrawn.


async def _has_record(container: Container, key: SessionKey, *, damaged: bool) -> bool:
    """Whether there is a record; `damaged` is said of one that cannot be read."""
    try:
        return await container.directory.find(key) is not None
    except CorruptStoreError:
        return damaged


async def _named_notes(
    container: Container, key: SessionKey, record: SessionRecord | None
) -> AsyncIterator[Artifact]:
    """The notes that outlive a session, by its record; not what an earlier one of the name left."""
    for name in record.notes if record else ():
        note = await container.artifacts.get(key.tenant, name)
        if record and note is not None and note.session is None and name not in record.notes_left:
            yield note


async def _record(container: Container, key: SessionKey) -> SessionRecord | None:
    """The record of a session, also of one of which only notes are left."""
    if (known := await container.directory.find(key)) is not None:
        return known
    before: str | None = None
    while page := await container.directory.list(key.tenant, before=before):
        for record in page:
            if record.session == key.session:
                return record
        before = page[-1].session
    return None


@asynccontextmanager
async def forgetting(container: Container, key: SessionKey) -> AsyncIterator[None]:
    """Hold a session while it is deleted: what the stores keep of it first, then the body.

    Raises SessionBusyError, with nothing deleted, when a turn of the session runs for too long,
    or StoreError.
    """
    async with container.lock.hold(key, wait_s=container.settings.limits.turn_wait_s):
        await withdraw_consent(container, key)
        await forget_session(container, key)
        yield
