"""What a rewind of ADK's changes about the calls that wait for a person."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from google.adk.events import Event

from core.adapters.event_calls import CallTraffic, call_traffic


class RewoundCalls(NamedTuple):
    """What is to be noted, in this order."""

    turns: frozenset[str] = frozenset()
    """Invocations whose calls are forgotten."""
    live: Sequence[tuple[str, CallTraffic]] = ()
    """Their calls and the answers to them that are not taken back, by invocation."""


def rewound_calls(
    events: Sequence[Event], before: Collection[str], after: Collection[str]
) -> RewoundCalls:
    """Read it from the events of a session; `before` and `after` the rewind these are taken back.

    Noted anew are the calls of turns of which something is taken back or comes back, and those
    that were answered there.
    """
    changed = [event for event in events if (event.id in before) != (event.id in after)]
    answered = {call for event in changed for call in call_traffic(event).answered}
    turns = {event.invocation_id for event in changed}
    turns |= {each.invocation_id for each in events if call_traffic(each).opened & answered}
    named = frozenset(turns - {""})
    return RewoundCalls(named, _calls_of([e for e in events if e.id not in after], named))


def _calls_of(events: Sequence[Event], turns: frozenset[str]) -> list[tuple[str, CallTraffic]]:
    """The calls of some turns, and their answers in whatever turn."""
    opened: set[str] = set()
    found: list[tuple[str, CallTraffic]] = []
    for event in events:
        traffic, mine = call_traffic(event), event.invocation_id in turns
        if mine:
            opened |= traffic.opened
        else:
            traffic = CallTraffic(frozenset(), traffic.answered & opened, ends_invocation=False)
        if not traffic.is_none:
            found.append((event.invocation_id, traffic))
    return found
