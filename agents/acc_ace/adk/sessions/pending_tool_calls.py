"""Which calls of ADK events wait for a person, and which events answer them.

ADK marks such calls as long-running: tool confirmations, requests for input, credentials, and
LongRunningFunctionTool. A result that the agent itself adds ("pending, ticket 7") answers nothing,
and neither does ADK when it seals all calls of a run that was aborted: the person may still answer.
"""

from typing import NamedTuple

from google.adk.events import Event

OPEN_CALLS = 32
"""Waiting calls of a session that are kept resumable; of more, the newest."""

_PERSON = "user"


class CallTraffic(NamedTuple):
    """What an event changes about the calls that wait."""

    opened: frozenset[str]
    answered: frozenset[str]
    ends_invocation: bool
    """Whether the event is an answer of the agent, after which nothing is resumed."""

    @property
    def is_none(self) -> bool:
        """Whether the event changes nothing."""
        return not (self.opened or self.answered or self.ends_invocation)


def call_traffic(event: Event) -> CallTraffic:
    """Read the ids of calls that an event opens and answers."""
    opened = frozenset(event.long_running_tool_ids or ())
    answered: frozenset[str] = frozenset()
    if event.author == _PERSON:
        answered = frozenset(r.id for r in event.get_function_responses() if r.id)
    says = event.content is not None or event.output is not None
    ends = event.author != _PERSON and not opened and says and event.is_final_response()
    return CallTraffic(opened, answered, ends)


def begins_turn(event: Event) -> bool:
    """Whether the event is a person's words, not an answer to a call or a change of state."""
    return (
        event.author == _PERSON
        and bool(event.content and event.content.parts)
        and not event.get_function_responses()
    )
