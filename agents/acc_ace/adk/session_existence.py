"""Whether ADK knows a session, and what becomes of one that it no longer knows."""

from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.sessions import BaseSessionService
from google.adk.sessions.base_session_service import GetSessionConfig

from acc_ace.errors import ConflictError
from acc_ace.schemas.base import SessionKey


async def is_known(sessions: BaseSessionService, key: SessionKey) -> bool:
    """Whether the session exists; none of its events are loaded."""
    found = await sessions.get_session(
        app_name=key.app,
        user_id=key.user,
        session_id=key.session,
        config=GetSessionConfig(num_recent_events=0),
    )
    return found is not None


async def begin_session(sessions: BaseSessionService, key: SessionKey) -> None:
    """Create a session when it is new."""
    if await is_known(sessions, key):
        return
    try:
        await sessions.create_session(app_name=key.app, user_id=key.user, session_id=key.session)
    except AlreadyExistsError:
        return  # Another turn created it in the meantime.


def session_gone(key: SessionKey) -> ConflictError:
    """The error of a turn whose session was deleted before its answer."""
    return ConflictError(
        f"session '{key.session}' was deleted while its turn waited or ran, and nothing of the "
        "turn is kept; send it again to begin a new session"
    )
