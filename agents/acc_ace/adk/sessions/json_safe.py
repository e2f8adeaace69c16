"""Convert values of agents, tools and clients into JSON that can be stored and read again.

SQLite's JSON functions refuse NaN and infinity, UTF-8 cannot encode lone surrogates, and readers
limit the nesting: an event with one of these would be written once and never be read.
"""

from typing import Any, Final

from google.adk.events import Event, EventActions
from google.adk.sessions import Session, State
from pydantic_core import from_json, to_json, to_jsonable_python

from acc_ace.core.text.normalize import encodable

MOST_DEEP: Final = 100
"""Maximum nesting of a value: half of what Pydantic reads; an event adds its own levels."""

_OPEN, _CLOSE = b"[" * MOST_DEEP, b"]" * MOST_DEEP


def json_form(value: Any) -> Any:  # noqa: ANN401 - a tool may return anything
    """The value as JSON: null for NaN and infinity, base64 for bytes, text for unknown classes.

    Pydantic writes its models, so what they exclude stays out. A value that cannot be written and
    read again (circular, too deep, raising) becomes its class name; in a dictionary, item by item.
    """
    try:
        return _readable(value)
    except Exception:  # noqa: BLE001 - foreign code, which may raise anything
        if type(value) is dict:
            return {_name(key): _readable_or_class(item) for key, item in value.items()}
        return _class(value)


def json_safe(value: Any) -> Any:  # noqa: ANN401
    """The value itself when Pydantic writes it as its JSON form, the form otherwise."""
    if value is None:  # As most fields of an event are.
        return None
    form = json_form(value)
    try:
        return value if to_json(value) == to_json(form) else form
    except Exception:  # noqa: BLE001 - as above
        return form


def make_storable(event: Event) -> dict[str, Any]:
    """Make all values of an event JSON-safe, in place.

    Returns the original state delta: the running session keeps the live values.
    """
    live = dict(event.actions.state_delta)
    event.output = json_safe(event.output)
    event.custom_metadata = json_safe(event.custom_metadata)
    _make_actions_storable(event.actions)
    for part in (event.content.parts if event.content else None) or []:
        if (call := part.function_call) is not None:
            call.args = json_safe(call.args)
        if (answer := part.function_response) is not None:
            answer.response = json_safe(answer.response)
    return live


def hold_live(session: Session, event: Event, live: dict[str, Any]) -> None:
    """Give the running session the live values of a stored event's state delta.

    As in ADK: a connection that a tool puts into the state is one for the tools after it.
    """
    # A key that UTF-8 cannot encode is stored under another name.
    names = event.actions.state_delta.keys() & live.keys()
    session.state.update({key: live[key] for key in names})


def _make_actions_storable(actions: EventActions) -> None:
    delta = actions.state_delta
    # Temporary keys are never stored.
    brief = {key: value for key, value in delta.items() if key.startswith(State.TEMP_PREFIX)}
    rest = {key: value for key, value in delta.items() if key not in brief}
    actions.state_delta = {**json_form(rest), **brief}
    actions.agent_state = json_safe(actions.agent_state)
    actions.set_model_response = json_safe(actions.set_model_response)
    for confirmation in actions.requested_tool_confirmations.values():
        confirmation.payload = json_safe(confirmation.payload)
    for widget in actions.render_ui_widgets or []:
        widget.payload = json_safe(widget.payload)


def _readable(value: Any) -> Any:  # noqa: ANN401
    """The JSON form; raises what writing or reading it raises."""
    form = encodable(
        to_jsonable_python(value, serialize_unknown=True, inf_nan_mode="null", bytes_mode="base64")
    )
    from_json(_OPEN + to_json(form) + _CLOSE)
    return form


def _readable_or_class(value: Any) -> Any:  # noqa: ANN401
    try:
        return _readable(value)
    except Exception:  # noqa: BLE001 - as above
        return _class(value)


def _name(key: object) -> str:
    return encodable(key) if isinstance(key, str) else str(_readable_or_class(key))


def _class(value: object) -> str:
    return f"(a {type(value).__name__})"
