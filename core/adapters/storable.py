"""What JSON and its readers can keep of a value that an agent, a tool or a client hands over.

SQLite's JSON functions refuse NaN and infinity, and no reader takes values nested without bound:
an event that holds either would be written once and never be read again. What holds itself, or
the same lists over and over, has no end when it is written down.
"""

import json
from collections.abc import Collection
from typing import Any, Final

from google.adk.events import Event, EventActions
from google.adk.sessions import Session, State

from core.adapters.held_values import (
    NOTHING,
    Repeats,
    form_of,
    has_form,
    held_by,
    is_model,
    is_text,
    items,
    named,
    written_name,
)
from core.adapters.model_forms import ModelForms
from core.domain.plain_text import encodable

MOST_DEEP: Final = 100
"""Levels of lists and objects in a value."""

_HOLDS_ITSELF: Final = "(the same as what holds it)"
_REPEATED: Final = "(repeated too often to be kept)"
_TOO_DEEP: Final = "(nested too deeply to be kept)"


def storable(value: Any) -> Any:  # noqa: ANN401 - whatever JSON knows
    """The same value with null for what is no finite number, and text for what has no end or form.

    Text stands for what is too deep, for a list or object within itself, and for what is left
    when lists and objects that stand in several places have been repeated too often, and for what
    is of a class that JSON has no form for. Bytes become base64, half surrogate pairs are replaced.
    Of a model stays what Pydantic writes: what it hides is hidden. The value itself when nothing
    of it must change.
    """
    return value if _is_storable(value) else written(value)


def written(value: Any) -> Any:  # noqa: ANN401
    """What is stored of a value: lists, dictionaries, text and numbers alone."""
    return _Copy().of(value, MOST_DEEP)


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
    # A name that UTF-8 cannot hold is stored as another.
    kept = event.actions.state_delta.keys() & live.keys()
    session.state.update({key: live[key] for key in kept})


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


def _is_storable(value: Any) -> bool:  # noqa: ANN401
    repeats, forms = Repeats(), ModelForms()
    left = [(value, 0)]
    keys: list[Any] = []
    while left:
        part, depth = left.pop()
        if is_model(part):
            if not forms.is_whole(part):
                return False
            part = forms.of(part)
        if not has_form(part):
            return False
        if (held := held_by(part)) is None:
            continue
        if depth >= MOST_DEEP or not repeats.allows(part, held):
            return False
        odd = [key for key in held if not is_text(key)] if isinstance(held, dict) else []
        keys += odd
        left += [(item, depth + 1) for item in (*odd, *items(held))]
    # When all is known to have an end: a key is written as one text.
    return all(written_name(key) is not None for key in keys)


class _Copy:
    """A value written anew, with text where it has no end."""

    def __init__(self) -> None:
        self._repeats = Repeats()
        self._forms = ModelForms()
        self._around: set[int] = set()

    def of(self, value: Any, levels: int) -> Any:  # noqa: ANN401
        """The value to so many levels."""
        if is_model(value):
            form = self._forms.of(value)
            return named(value) if form is NOTHING else self.of(form, levels)
        if (held := held_by(value)) is None:
            return form_of(value)
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
        copy: dict[str, Any] = {}
        for key, item in held.items():
            name = _name(key)
            copy[name if name not in copy else f"{name} {len(copy)}"] = self.of(item, levels)
        return copy

    def _as_text(self, value: dict[Any, Any] | list[Any]) -> str:
        left: list[Any] = [value]
        try:
            while left:
                for item in items(left.pop()):
                    if isinstance(item, dict | list | tuple):
                        if not self._repeats.allows(item, item):
                            return _REPEATED
                        left.append(item)
            return encodable(json.dumps(value, ensure_ascii=False, default=named))
        except Exception:  # noqa: BLE001 - too deep, or code of somebody's class
            return _TOO_DEEP


def _name(key: Any) -> str:  # noqa: ANN401
    """What stands for a key of a dictionary."""
    if isinstance(key, str | bytes):
        return str(form_of(key))
    name = written_name(key) if _is_storable(key) else None
    return named(key) if name is None else name
