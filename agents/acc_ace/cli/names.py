"""Names on the command line: the app and user of the terminal, and what a name may be."""

from acc_ace.errors import InputError
from acc_ace.storage.prompt_history import TERMINAL_APP

APP_NAME = TERMINAL_APP

DEFAULT_USER = "user"
"""The same as ADK's web UI uses, so that a conversation can move there."""

MAX_NAME = 128
"""Characters of a user or session id."""


def checked_name(name: str, option: str) -> str:
    """A user or session id that can be stored and printed; raises InputError."""
    if not name.strip() or not name.isprintable() or len(name) > MAX_NAME:
        raise InputError(f"{option} must be 1 to {MAX_NAME} printable characters; got {name!r:.40}")
    return name
