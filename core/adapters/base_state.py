"""What events change of a session's own state, and how that is kept when they are deleted.

A rewind finds what the state was in the events before it. What a session began with is in none of
them, so it is kept, and so is what deleted events left: key by key, each until a later event that
is deleted has changed it.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from google.adk.events import Event
from google.adk.sessions import State

from schemas.state import PERSISTED

_ELSEWHERE = (State.APP_PREFIX, State.USER_PREFIX, State.TEMP_PREFIX)


def own_changes(events: Iterable[Event]) -> dict[str, Any]:
    """The keys of the session's own state that events changed, as they left them; none of ours."""
    return {
        key: value
        for event in events
        for key, value in event.actions.state_delta.items()
        if not key.startswith(_ELSEWHERE) and key not in PERSISTED
    }


def with_deleted(base: Mapping[str, Any], bodies: Iterable[str]) -> dict[str, Any]:
    """The state before the oldest event once these are deleted; `bodies` oldest first."""
    return {**base, **own_changes(map(Event.model_validate_json, bodies))}


def encoded_state(state: Mapping[str, Any]) -> str:
    """A state as it is stored."""
    return json.dumps(dict(state))


def decoded_state(text: str) -> dict[str, Any]:
    """A state as it was stored."""
    state: dict[str, Any] = json.loads(text)
    return state
