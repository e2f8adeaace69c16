"""Delete what the stores keep of a session, or of turns that were undone."""

from core.container import Container
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


async def forget_session(
    container: Container, key: SessionKey, *, keep_notes: bool = False
) -> None:
    """Delete state, turns, artifacts, files and record of a session. Raises StoreError.

    Notes that outlive the session are no longer its own; with `keep_notes` the directory goes on
    to know them. Calling it again changes nothing.
    """
    await container.journal.erase(key.tenant, key.session)
    await container.evidence.erase(key.tenant, key.session)
    await container.artifacts.erase(key.tenant, key.session)
    await container.files.erase(key.tenant, key.session)
    if await container.directory.find(key) is not None:
        await container.directory.delete(key, at=container.clock.now(), keep_notes=keep_notes)
