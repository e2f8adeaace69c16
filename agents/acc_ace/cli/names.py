"""Names on the command line: the terminal's app and user, and the validation of names."""

from acc_ace.errors import InputError
from acc_ace.storage.prompt_history import TERMINAL_APP

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
