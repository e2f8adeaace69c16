"""Delete what the stores keep of a session."""

from core.container import Container
from schemas.tenancy import SessionKey


async def forget_session(
    container: Container, key: SessionKey, *, keep_notes: bool = False
) -> None:
    """Delete state, turns, artifacts and the record of a session. Raises StoreError.

    Notes that outlive the session are no longer its own; with `keep_notes` the directory goes on
    to know them. Calling it again changes nothing.
    """
    await container.journal.erase(key.tenant, key.session)
    await container.evidence.erase(key.tenant, key.session)
    await container.artifacts.erase(key.tenant, key.session)
    if await container.directory.find(key) is not None:
        await container.directory.delete(key, at=container.clock.now(), keep_notes=keep_notes)
