"""Which events of a session a rewind of ADK's has not taken back.

ADK's rule: the newest rewind counts first, and one that is taken back takes nothing back. It leaves
out what was taken back only where it finds the turn before which the session was put back. Of a
long session that turn is not loaded, or is deleted; ADK would bring the turns after it back, and
people could answer their calls.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from google.adk.events import Event
from google.adk.sessions.base_session_service import GetSessionConfig


class _Walk(NamedTuple):
    """What a walk from the newest event back has met; places in the events."""

    live: list[int]
    begin: int
    """After the newest rewind that took back more than is here."""


def live_events(events: Sequence[Event]) -> list[Event]:
    """The events that are not taken back by a rewind to one of them."""
    return [events[place] for place in reversed(_walk(events).live)]


def loadable_events(
    events: Sequence[Event], *, waiting: Collection[str] = (), cut: Collection[str] = ()
) -> list[Event]:
    """The newest events of a session, without those that ADK would bring back.

    What was taken back stays only with the turn before which it was, so that ADK leaves it out, and
    so that the rewind can be taken back itself. Events may be missing before the others; those of
    `waiting`, invocations that wait for a person and were not taken back, come from anywhere. Of
    invocations in `cut` the first events may be missing.
    """
    begin = _walk(events, cut).begin
    older = [event for event in events[:begin] if event.invocation_id in waiting]
    return [*older, *events[begin:]]


def is_part(config: GetSessionConfig) -> bool:
    """Whether `config` may leave events of a session out."""
    return config.num_recent_events is not None or config.after_timestamp is not None


def rewound_to(events: Sequence[Event]) -> set[str]:
    """The invocations before which rewinds put the session back."""
    return {before for event in events if (before := event.actions.rewind_before_invocation_id)}


def _walk(events: Sequence[Event], cut: Collection[str] = ()) -> _Walk:
    begun: dict[str, int] = {}
    for place, event in enumerate(events):
        if event.invocation_id not in cut:
            begun.setdefault(event.invocation_id, place)
    live: list[int] = []
    begin, place = 0, len(events) - 1
    while place >= 0:
        before = events[place].actions.rewind_before_invocation_id
        if not before:
            live.append(place)
        elif (first := begun.get(before, place)) < place:
            place = first
        else:
            # It began before all events that are here.
            begin = max(begin, place + 1)
        place -= 1
    return _Walk(live, begin)
