"""The periods that a text names: 'What did we decide on 7 May?', 「先週の金曜に何を決めた?」.

A sign of relevance for recall, so a date that is missed costs little and one that is invented
misleads: numbers, durations and names that only look like times are passed over. English and
Japanese, by rule, seen from the day on which the text was said.
"""

from collections.abc import Iterator
from datetime import date, datetime, time
from typing import NamedTuple

from core.domain.language import dates_en, dates_ja
from core.domain.language.calendar_days import Days, Mention, resolved
from core.domain.language.normal import normalise_cased

MAX_PERIODS = 4
"""Periods that are taken from one text; the first ones."""

MAX_CHARS = 4_000
"""Characters of a text that are looked at."""


class Period(NamedTuple):
    """A stretch of time, `end` exclusive; both aware."""

    start: datetime
    end: datetime


def named_periods(text: str, now: datetime) -> tuple[Period, ...]:
    """The periods of the past that a text names, in its order, at most MAX_PERIODS.

    `now` (aware) says when it was said, and in whose zone a day begins. A period that has begun
    keeps its calendar end; one that lies wholly in the future is left out. Never raises.
    """
    seen = normalise_cased(text[:MAX_CHARS])[:MAX_CHARS]
    today = now.toordinal()
    found: dict[Period, None] = {}
    for mention in _apart(_mentions(seen, today)):
        if len(found) == MAX_PERIODS:
            break
        named = resolved(mention.named, today)
        if named and not mention.weak:
            found[_period(named, now)] = None
    return tuple(found)


def _mentions(text: str, today: int) -> Iterator[Mention]:
    for rule in (*dates_en.rules(), *dates_ja.rules()):
        for match in rule.pattern.finditer(text):
            weak = bool(rule.weak and rule.weak(match))
            yield Mention(match.start(), match.end(), rule.read(match, today), weak)


def _apart(mentions: Iterator[Mention]) -> Iterator[Mention]:
    """The mentions in their order; of those that overlap the first, and of these the longest."""
    reached = 0
    for mention in sorted(mentions, key=lambda mention: (mention.begin, -mention.end)):
        if mention.begin >= reached:
            reached = mention.end
            yield mention


def _period(named: Days, now: datetime) -> Period:
    return Period(_midnight(named.first, now), _midnight(named.after, now))


def _midnight(day: int, now: datetime) -> datetime:
    # From the date and not by adding hours: a day of a change of clocks has 23 or 25.
    return datetime.combine(date.fromordinal(day), time(), now.tzinfo)
