"""What events change of a session's own state, and how that is kept when they are deleted.

A rewind finds what the state was in the events before it. What a session began with is in none of
them, so it is kept. What a deleted event changed becomes a change of the event before it, so that
it stays where it was between those that are kept; of the first it becomes what the session began
with.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from google.adk.events import Event
from google.adk.sessions import State

from schemas.state import PERSISTED

_ELSEWHERE = (State.APP_PREFIX, State.USER_PREFIX, State.TEMP_PREFIX)

BEGIN: Final = ""
"""Stands for the event before the first."""


class Around(NamedTuple):
    """An event that is about to be deleted, or one that stays between such or before them."""

    event: str
    body: str | None
    """None of one that stays."""


def own_changes(events: Iterable[Event]) -> dict[str, Any]:
    """The keys of the session's own state that events changed, as they left them; none of ours."""
    return {
        key: value
        for event in events
        for key, value in event.actions.state_delta.items()
        if not key.startswith(_ELSEWHERE) and key not in PERSISTED
    }


def left_changes(events: Iterable[Around]) -> dict[str, dict[str, Any]]:
    """What events, oldest first, leave when they are deleted, by the event that then has it."""
    left: dict[str, dict[str, Any]] = {}
    stays = BEGIN
    for each in events:
        if each.body is None:
            stays = each.event
        elif changes := own_changes([Event.model_validate_json(each.body)]):
            left[stays] = left.get(stays, {}) | changes
    return left


def with_changes(body: str, changes: Mapping[str, Any]) -> str:
    """A stored event that changes the state once more, last."""
    event: dict[str, Any] = json.loads(body)
    event.setdefault("actions", {}).setdefault("state_delta", {}).update(changes)
    return json.dumps(event, ensure_ascii=False)


def encoded_state(state: Mapping[str, Any]) -> str:
    """A state as it is stored."""
    return json.dumps(dict(state))


def decoded_state(text: str) -> dict[str, Any]:
    """A state as it was stored."""
    state: dict[str, Any] = json.loads(text)
    return state
