"""What JSON and its readers can keep of a value that an agent, a tool or a client hands over.

SQLite's JSON functions refuse NaN and infinity, and no reader takes values nested without bound:
an event that holds either would be written once and never be read again. What holds itself, or
the same lists over and over, has no end when it is written down.
"""

import json
import math
from collections.abc import Iterable
from typing import Any, Final

from google.adk.events import Event, EventActions
from google.adk.sessions import Session, State
from pydantic_core import PydanticSerializationError, to_json

MOST_DEEP: Final = 100
"""Levels of lists and objects in a value."""

MOST_REPEATED: Final = 100_000
"""Values that are written once more because their list or object stands in several places."""

_MOST_SAID: Final = 1_000
"""Characters of what an object says of itself."""

_HOLDS_ITSELF: Final = "(the same as what holds it)"
_REPEATED: Final = "(repeated too often to be kept)"
_TOO_DEEP: Final = "(nested too deeply to be kept)"


def storable(value: Any) -> Any:  # noqa: ANN401 - whatever JSON knows
    """The same value with null for what is no finite number, and text for what has no end or form.

    Text stands for what is too deep, for a list or object within itself, and for what is left
    when lists and objects that stand in several places have been repeated too often, and for what
    is of a class that JSON has no form for. The value itself when nothing of it must change.
    """
    return value if _is_storable(value) else _Copy().of(value, MOST_DEEP)


def make_storable(event: Event) -> dict[str, Any]:
    """Change what the event could not be stored or read with, wherever an agent's values stand.

    Returns its change of state as it was: the running session goes on with the values themselves.
    """
    live = dict(event.actions.state_delta)
    event.output = storable(event.output)
    event.custom_metadata = storable(event.custom_metadata)
    _make_actions_storable(event.actions)
    for part in (event.content.parts if event.content else None) or []:
        if (call := part.function_call) is not None:
            call.args = storable(call.args)
        if (answer := part.function_response) is not None:
            answer.response = storable(answer.response)
    return live


def hold_live(session: Session, event: Event, live: dict[str, Any]) -> None:
    """Give the running session the values of a stored event's state that may be text in it.

    As ADK does it: a connection that a tool puts into the state is one for the tools after it.
    """
    session.state.update({key: live[key] for key in event.actions.state_delta})


def _make_actions_storable(actions: EventActions) -> None:
    delta = actions.state_delta
    # What is temporary is never stored.
    brief = {key: value for key, value in delta.items() if key.startswith(State.TEMP_PREFIX)}
    kept = {key: value for key, value in delta.items() if key not in brief}
    actions.state_delta = {**storable(kept), **brief}
    actions.agent_state = storable(actions.agent_state)
    actions.set_model_response = storable(actions.set_model_response)
    for confirmation in actions.requested_tool_confirmations.values():
        confirmation.payload = storable(confirmation.payload)
    for widget in actions.render_ui_widgets or []:
        widget.payload = storable(widget.payload)


class _Repeats:
    """Bounds what a walk meets again; what it meets once is bounded by the memory it takes."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._left = MOST_REPEATED

    def allows(self, part: Any) -> bool:  # noqa: ANN401
        """Whether the walk may go on into this list or object."""
        if id(part) in self._seen:
            self._left -= len(part)
        self._seen.add(id(part))
        return self._left >= 0


def _is_storable(value: Any) -> bool:  # noqa: ANN401
    repeats = _Repeats()
    left = [(value, 0)]
    while left:
        part, depth = left.pop()
        if isinstance(part, float) and not math.isfinite(part):
            return False
        if isinstance(part, dict | list | tuple):
            if depth >= MOST_DEEP or not repeats.allows(part):
                return False
            left += [(item, depth + 1) for item in _items(part)]
        elif not _has_form(part):
            return False
    return True


class _Copy:
    """A value written anew, with text where it has no end."""

    def __init__(self) -> None:
        self._repeats = _Repeats()
        self._around: set[int] = set()

    def of(self, value: Any, levels: int) -> Any:  # noqa: ANN401
        """The value to so many levels."""
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        if not isinstance(value, dict | list | tuple):
            return value if _has_form(value) else _as_named(value)
        if id(value) in self._around:
            return _HOLDS_ITSELF
        if not self._repeats.allows(value):
            return _REPEATED
        if not levels:
            return self._as_text(value)
        self._around.add(id(value))
        copy = self._of_items(value, levels - 1)
        self._around.discard(id(value))
        return copy

    def _of_items(self, value: Any, levels: int) -> Any:  # noqa: ANN401
        if isinstance(value, dict):
            return {key: self.of(item, levels) for key, item in value.items()}
        return [self.of(item, levels) for item in value]

    def _as_text(self, value: Any) -> str:  # noqa: ANN401
        left = [value]
        while left:
            for item in _items(left.pop()):
                if isinstance(item, dict | list | tuple):
                    if not self._repeats.allows(item):
                        return _REPEATED
                    left.append(item)
        try:
            return json.dumps(value, ensure_ascii=False, default=str)
        except (RecursionError, ValueError, TypeError):
            return _TOO_DEEP


def _has_form(leaf: Any) -> bool:  # noqa: ANN401
    """Whether what is no list and no object of JSON can be written: a date can, a socket cannot."""
    if leaf is None or isinstance(leaf, str | int | float | bytes | bytearray):
        return True
    try:
        to_json(leaf, bytes_mode="base64")
    except (PydanticSerializationError, ValueError, RecursionError):
        return False
    return True


def _as_named(leaf: Any) -> str:  # noqa: ANN401
    """What an object says of itself, or the name of its class when it fails to say it."""
    try:
        return str(leaf)[:_MOST_SAID]
    except Exception:  # noqa: BLE001 - code of somebody's class, which may raise anything
        return f"(a {type(leaf).__name__})"


def _items(part: Any) -> Iterable[Any]:  # noqa: ANN401
    return part.values() if isinstance(part, dict) else part
