"""Names on the command line: apps, users and sessions, and the validation of names."""

from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.errors import InputError, NotFoundError
from acc_ace.storage.prompt_history import TERMINAL_APP
from acc_ace.turn.journal import Journal
from acc_ace.turn.session_directory import SessionDirectory

APP_NAME = TERMINAL_APP

DEFAULT_USER = "user"
"""The default of ADK's web UI, so that a conversation can continue there."""

MAX_NAME = 128
"""Maximum characters of a user or session id."""


def checked_name(name: str, option: str) -> str:
    """Validate a user or session id; raises InputError."""
    if not name.strip() or not name.isprintable() or len(name) > MAX_NAME:
        raise InputError(f"{option} must be 1 to {MAX_NAME} printable characters; got {name!r:.40}")
    return name


async def require_app(directory: SessionDirectory, app: str) -> None:
    """Raise InputError for an invalid name, NotFoundError for an app with nothing stored."""
    checked_name(app, "--app")
    if app != APP_NAME and not await directory.knows_app(app):
        known = ", ".join(dict.fromkeys([APP_NAME, *await directory.apps()]))
        raise NotFoundError(f"nothing is stored here for an app '{app}'; apps known: {known}")


async def find_session(
    journal: Journal, app: str, user: str | None, session: str | None
) -> SessionKey:
    """The session named, of the default user if none is; else the latest of the user or the app.

    Raises InputError for an invalid name, NotFoundError when there is no session.
    """
    who = DEFAULT_USER if user is None else checked_name(user, "--user")
    if session is not None:
        return SessionKey(app, who, checked_name(session, "--session"))
    if user is None:
        keys = [key for key, _ in await journal.sessions_of_app(app, limit=1)]
    else:
        page = await journal.sessions(Tenant(app, user), limit=1)
        keys = [SessionKey(app, user, name) for name, _ in page]
    if not keys:
        whose = f"app '{app}'" if user is None else f"user '{user}' of app '{app}'"
        raise NotFoundError(f"{whose} has no session")
    return keys[0]
