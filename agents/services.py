"""Our session service for `adk web agents --session_service_uri=accace://`.

ADK imports this file when it starts with the directory of the apps. `accace://` keeps sessions
beside the other stores: in the data directory or the PostgreSQL of the settings;
`accace:///some/path` in another directory.
"""

from pathlib import Path
from urllib.parse import unquote, urlparse

from google.adk.cli.service_registry import get_service_registry

from config import settings
from core.adapters.adk_session import IN_MEMORY, SESSIONS_FILE, BoundedSessionService
from core.adapters.bounded_sessions import BoundedSessions
from schemas.tenancy import SessionKey

SCHEME = "accace"


def session_service(uri: str, **_: object) -> BoundedSessions:
    """The session service of a URI; the options that ADK gives to every scheme do not matter."""
    path = unquote(urlparse(uri).path)
    if path:
        return BoundedSessionService(Path(path) / SESSIONS_FILE, on_delete=forget)
    if settings().store == "postgres":
        return _beside_the_stores()
    if settings().store == "memory":
        return BoundedSessionService(IN_MEMORY, on_delete=forget)
    return BoundedSessionService(settings().data_dir / SESSIONS_FILE, on_delete=forget)


def _beside_the_stores() -> BoundedSessions:
    """Sessions over the connections of the process's stores."""
    # As in `forget`: only a server that really keeps sessions there builds the container.
    from core.adapters.open_sessions import open_sessions  # noqa: PLC0415
    from core.bootstrap import process_container  # noqa: PLC0415

    return open_sessions(settings(), process_container().journal, on_delete=forget)


async def forget(key: SessionKey) -> None:
    """Delete what the stores of this process keep of a session."""
    # The container belongs to the running app; registering a scheme must not build it.
    from core.bootstrap import process_container  # noqa: PLC0415

    container = process_container()
    await container.journal.erase(key.tenant, key.session)
    await container.evidence.erase(key.tenant, key.session)
    await container.artifacts.erase(key.tenant, key.session)


get_service_registry().register_session_service(SCHEME, session_service)
