"""Which of an event's state is stored, and where."""

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from google.adk.events import Event, EventActions
from google.adk.sessions import State
from pydantic_core import to_jsonable_python

from acc_ace.adk.sessions.client_state import allowed
from acc_ace.errors import StoreError
from acc_ace.schemas.base import SessionKey
from acc_ace.schemas.state import PLAYBOOK

_ELSEWHERE = (State.APP_PREFIX, State.USER_PREFIX, State.TEMP_PREFIX)

_log = logging.getLogger(__name__)


def take_projection(event: Event) -> dict[str, Any]:
    """Take the playbook out of an event: its store is the authority, this is a projection.

    It is written to the app's state and nowhere else, so the log of events does not hold a copy
    of the whole playbook for each turn.
    """
    delta = event.actions.state_delta
    return {PLAYBOOK: delta.pop(PLAYBOOK)} if PLAYBOOK in delta else {}


@contextmanager
def left_to_the_next_turn(key: SessionKey) -> Iterator[None]:
    """Bear that the playbook cannot be shown in session.state: the turn has it from its store."""
    try:
        yield
    except StoreError as error:
        _log.warning("playbook_not_shown app=%s session=%s: %s", key.app, key.session, error)


def encoded(value: Any) -> str:  # noqa: ANN401 - whatever an agent puts into a state
    """A value of a state as it is stored, in the form that Pydantic gives it."""
    form = to_jsonable_python(
        value, serialize_unknown=True, inf_nan_mode="null", bytes_mode="base64"
    )
    return json.dumps(form)


def lasting(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state without what is temporary."""
    return {key: value for key, value in state.items() if not key.startswith(State.TEMP_PREFIX)}


def unshared(state: Mapping[str, Any]) -> dict[str, Any]:
    """The session's own part of a state."""
    return {key: value for key, value in state.items() if not key.startswith(_ELSEWHERE)}


def is_silent(event: Event) -> bool:
    """Whether nothing of the event would outlive the turn."""
    if event.content is not None or event.output is not None or event.error_code:
        return False
    if lasting(event.actions.state_delta):
        return False
    return event.actions.model_copy(update={"state_delta": {}}) == EventActions()


def protected(state: Mapping[str, Any] | None, key: SessionKey) -> dict[str, Any]:
    """The state without the keys that a client may not write; they are named in the log."""
    state = state or {}
    kept = {name: value for name, value in state.items() if allowed(key.app, name, value)}
    if len(kept) < len(state):
        dropped = sorted(set(state) - set(kept))
        _log.warning("client_state_dropped session=%s keys=%s", key.session, ",".join(dropped))
    return kept
