"""What a client may write into session.state, through ADK's endpoints."""

from google.adk.events import Event
from google.adk.events._internal_metadata import RESTORED_EVENT_KEY

from acc_ace.schemas.base import MEMORIES, OWN_APP, Authority
from acc_ace.schemas.state import INPUT_AUTHORITY, MEMORY, PERSISTED

_CLIENT = "user"
_SHARED = ("app:", "temp:")
_OF_WEB_UI = "__session_metadata__"
"""What ADK's web UI keeps of a session: the name that is shown for it."""


def is_from_client(event: Event) -> bool:
    """Whether a client made the event: a user's message, a state patch, or a restored event."""
    restored = (event.custom_metadata or {}).get(RESTORED_EVENT_KEY, False)
    return event.author == _CLIENT or bool(restored)


def allowed(app: str, key: str, value: object) -> bool:
    """Whether a client may write this.

    Not our persisted keys, nothing that all users share, nothing between stages. The authority
    of an input may be lowered, never raised above the user's own, and the memory may be chosen.
    Of our own app nothing else persists; under the plugin an app has keys of its own.
    """
    if key == MEMORY:
        return isinstance(value, str) and value in MEMORIES
    if key == INPUT_AUTHORITY:
        # What is no authority at all stays and is refused, lest a typo for 'tool' speak as user.
        return value != Authority.SYSTEM.value
    if app == OWN_APP:
        return key == _OF_WEB_UI
    return key not in PERSISTED and not key.startswith(_SHARED)
