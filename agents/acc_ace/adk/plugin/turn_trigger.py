"""What a run starts with: a user's message, or the result that a paused run has waited for."""

from collections.abc import Sequence
from typing import NamedTuple

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.genai import types

from acc_ace.errors import MemoryBypassedError


class TurnTrigger(NamedTuple):
    """The content that started the invocation, and the newest one; the same in a fresh run.

    A run without a new content, such as a resume by invocation id alone, uses the first one.
    """

    began: types.Content | None
    newest: types.Content | None
    is_result: bool
    """Whether the newest content answers a call instead of being the user's words."""


def turn_trigger(ctx: InvocationContext) -> TurnTrigger:
    """Read the user's contents of an invocation from its events.

    Raises MemoryBypassedError when one invocation holds several messages of the user: its events
    would be a transcript.
    """
    contents = [event.content for event in turn_events(ctx) if _is_users(event)]
    words = [content for content in contents if not _answers_calls(content)]
    if len(words) > 1:
        raise MemoryBypassedError(
            "an agent keeps one invocation open for several user messages (mode='task'); "
            "bounded memory would have to replay them: use mode='chat' or 'single_turn'"
        )
    began = words[0] if words else ctx.user_content
    newest = contents[-1] if _has_new_content(turn_events(ctx)) else began
    return TurnTrigger(began=began, newest=newest, is_result=_answers_calls(newest))


def turn_events(ctx: InvocationContext) -> Sequence[Event]:
    """The session's events of this invocation, oldest first."""
    return [event for event in ctx.session.events if event.invocation_id == ctx.invocation_id]


def _has_new_content(events: Sequence[Event]) -> bool:
    """Whether the run brought a new content: no event of an agent comes after it.

    A run by id alone may bring a change of state, in an event without content.
    """
    for event in reversed(events):
        if event.author != "user" or _is_users(event):
            return _is_users(event)
    return False


def _is_users(event: Event) -> bool:
    return event.author == "user" and bool(event.content and event.content.parts)


def _answers_calls(content: types.Content | None) -> bool:
    parts = (content.parts if content else None) or []
    return any(part.function_response is not None for part in parts)
