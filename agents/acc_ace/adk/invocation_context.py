"""What stages read from and hand on through ADK's invocation context."""

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event, EventActions

from acc_ace.schemas.base import SessionKey, Value


def session_key(ctx: InvocationContext) -> SessionKey:
    """The session that an invocation runs in."""
    return SessionKey(ctx.session.app_name, ctx.session.user_id, ctx.session.id)


def hand_on(ctx: InvocationContext, key: str, value: Value | dict[str, object]) -> None:
    """Hand a value to later stages under a `temp:` key.

    It is written on the invocation's own session: an event would do the same but leave a row in
    the event log for each stage of each turn.
    """
    if not key.startswith("temp:"):
        raise ValueError(f"'{key}' would outlive the turn; only temp: keys are handed on")
    ctx.session.state[key] = value.model_dump(mode="json") if isinstance(value, Value) else value


def state_event(ctx: InvocationContext, author: str, state: dict[str, object]) -> Event:
    """A content-less event that persists state."""
    return Event(
        invocation_id=ctx.invocation_id,
        author=author,
        branch=ctx.branch,
        actions=EventActions(state_delta=state),
    )
