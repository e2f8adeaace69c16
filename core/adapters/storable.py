"""What JSON and its readers can keep of a value that an agent, a tool or a client hands over.

SQLite's JSON functions refuse NaN and infinity, and no reader takes values nested without bound:
an event that holds either would be written once and never be read again. What holds itself, or
the same lists over and over, has no end when it is written down.
"""

import json
from collections.abc import Collection, Iterable
from typing import Any, Final

from google.adk.events import Event, EventActions
from google.adk.sessions import Session, State

from core.adapters.held_values import has_form, held_by, is_name, named

MOST_DEEP: Final = 100
"""Levels of lists and objects in a value."""

MOST_REPEATED: Final = 100_000
"""Values that are written once more because their list or object stands in several places."""

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
        # The parts themselves are held, lest another be taken for one that is gone.
        self._seen: dict[int, Any] = {}
        self._left = MOST_REPEATED

    def allows(self, part: Any, held: Collection[Any]) -> bool:  # noqa: ANN401
        """Whether the walk may go on into what this list or object holds."""
        if id(part) in self._seen:
            self._left -= len(held)
        self._seen[id(part)] = part
        return self._left >= 0


def _is_storable(value: Any) -> bool:  # noqa: ANN401
    repeats = _Repeats()
    left = [(value, 0)]
    keys: list[Any] = []
    while left:
        part, depth = left.pop()
        if not has_form(part):
            return False
        if (held := held_by(part)) is None:
            continue
        if depth >= MOST_DEEP or not repeats.allows(part, held):
            return False
        odd = [key for key in held if not isinstance(key, str)] if isinstance(held, dict) else []
        keys += odd
        left += [(item, depth + 1) for item in (*odd, *_items(held))]
    # When all is known to have an end: a key is written as one text.
    return all(map(is_name, keys))


class _Copy:
    """A value written anew, with text where it has no end."""

    def __init__(self) -> None:
        self._repeats = _Repeats()
        self._around: set[int] = set()

    def of(self, value: Any, levels: int) -> Any:  # noqa: ANN401
        """The value to so many levels."""
        if (held := held_by(value)) is None:
            return _leaf(value)
        if id(value) in self._around:
            return _HOLDS_ITSELF
        if not self._repeats.allows(value, held):
            return _REPEATED
        if not levels:
            return self._as_text(held if isinstance(held, dict) else list(held))
        self._around.add(id(value))
        copy = self._of_held(held, levels - 1)
        self._around.discard(id(value))
        return copy

    def _of_held(self, held: Collection[Any], levels: int) -> Any:  # noqa: ANN401
        if not isinstance(held, dict):
            return [self.of(item, levels) for item in held]
        copy: dict[Any, Any] = {}
        for key, item in held.items():
            is_kept = isinstance(key, str) or (_is_storable(key) and is_name(key))
            name = key if is_kept else named(key)
            copy[name if name not in copy else f"{name} {len(copy)}"] = self.of(item, levels)
        return copy

    def _as_text(self, value: dict[Any, Any] | list[Any]) -> str:
        left: list[Any] = [value]
        while left:
            for item in _items(left.pop()):
                if isinstance(item, dict | list | tuple):
                    if not self._repeats.allows(item, item):
                        return _REPEATED
                    left.append(item)
        try:
            return json.dumps(value, ensure_ascii=False, default=named)
        except (RecursionError, ValueError, TypeError):
            return _TOO_DEEP


def _leaf(value: Any) -> Any:  # noqa: ANN401
    if has_form(value):
        return value
    return None if isinstance(value, float) else named(value)


def _items(held: Collection[Any]) -> Iterable[Any]:
    return held.values() if isinstance(held, dict) else held
