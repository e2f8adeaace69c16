"""What a rewind of ADK's changes about the calls that wait for a person."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from google.adk.events import Event

from core.adapters.event_calls import CallTraffic, call_traffic
from core.adapters.live_events import live_events


class RewoundCalls(NamedTuple):
    """What is to be noted, in this order."""

    taken: frozenset[str] = frozenset()
    """Invocations of which something is taken back: their calls are forgotten."""
    restored: Sequence[tuple[str, CallTraffic]] = ()
    """Calls and answers, by invocation, of those that were taken back and no longer are."""

    def __bool__(self) -> bool:
        """Whether anything changes."""
        return any(self)


def rewound_calls(events: Sequence[Event], rewind: Event) -> RewoundCalls:
    """Read it from all events of a session before the rewind."""
    before, after = live_events(events), live_events([*events, rewind])
    restored = _turns(_beside(after, before)) - _turns(_beside(events, after))
    return RewoundCalls(_turns(_beside(before, after)), _calls_of(after, restored))


def _calls_of(events: Iterable[Event], turns: frozenset[str]) -> list[tuple[str, CallTraffic]]:
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


def _beside(events: Iterable[Event], others: Iterable[Event]) -> list[Event]:
    """Events that are not among the others."""
    known = {id(each) for each in others}
    return [each for each in events if id(each) not in known]


def _turns(events: Iterable[Event]) -> frozenset[str]:
    return frozenset(each.invocation_id for each in events) - {""}
