"""Delete a session in one transaction, and find the notes of turns that were undone."""

from collections.abc import Sequence

from acc_ace.container import Container
from acc_ace.errors import CorruptStoreError
from acc_ace.schemas.artifact import Artifact
from acc_ace.schemas.session import SessionRecord
from acc_ace.schemas.tenancy import SessionKey
from acc_ace.turn import session_record as rules


async def notes_after(container: Container, key: SessionKey, turn: int) -> list[str]:
    """The session's notes that rest on turns later than `turn`. Raises StoreError."""
    record = await container.directory.find(key)
    found: list[str] = []
    for name in record.notes if record else ():
        note = await container.artifacts.get(key.tenant, name)
        if note is not None and note.session == key.session and (note.turn or 0) > turn:
            found.append(name)
    return found


async def delete_session(
    container: Container, key: SessionKey, *, outliving: Sequence[Artifact] | None = None
) -> bool:
    """Delete a session in one transaction, then its files; whether there was any of it.

    Its notes go with it unless the user consented that those `outliving` stay. Notes that an
    earlier session of its name left are the user's and stay. The caller holds the session.
    Raises StoreError.
    """
    now, record = container.clock.now(), await _record(container, key)
    if outliving is not None:
        begun = record or SessionRecord(session=key.session, created_at=now, active_at=now)
        record = rules.offloaded(begun, now, [note.artifact_id for note in outliving])
    consented = outliving is not None
    left = rules.deleted(record, now, keep_notes=consented) if record is not None else None
    deleted = await container.erasure.delete_sessions([key], left=left, notes=outliving or ())
    return any(deleted.values())


async def forget_session(container: Container, key: SessionKey) -> None:
    """Hold a session and delete it with its notes.

    Raises SessionBusyError, with nothing deleted, when a turn of the session runs for too long,
    or StoreError.
    """
    async with container.lock.hold(key, wait_s=container.settings.limits.turn_wait_s):
        await delete_session(container, key)


async def _record(container: Container, key: SessionKey) -> SessionRecord | None:
    """The record of a session; None also when it cannot be read, so that it can be deleted."""
    try:
        return await container.directory.find(key)
    except CorruptStoreError:
        return None
