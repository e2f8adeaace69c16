"""Which events of a session the rewinds of ADK's take back, kept apart from the events.

A rewind takes back what was stored from the first event of the turn that it names up to itself. As
a span of places in the session that stays known when the turn leaves the window, and when it or the
rewind itself is deleted. ADK's rule, which asks for both, would bring the rest back.
"""

from collections.abc import Iterable
from typing import NamedTuple

Place = tuple[float, int]
"""Where an event is in its session."""


class Rewind(NamedTuple):
    """What a rewind takes back: from `since`, up to itself."""

    since: Place
    until: Place


def counting(rewinds: Iterable[Rewind]) -> set[Rewind]:
    """The rewinds that count: the newest does, and one that is taken back takes nothing back."""
    found: set[Rewind] = set()
    begin: Place = (float("inf"), 0)
    for rewind in sorted(rewinds, key=lambda rewind: rewind.until, reverse=True):
        if rewind.until < begin:
            found.add(rewind)
            begin = rewind.since
    return found
