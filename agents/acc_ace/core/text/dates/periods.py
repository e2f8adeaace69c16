"""Extract periods from a text: 'What did we decide on 7 May?', 「先週の金曜に何を決めた?」.

A relevance signal for recall, so precision matters more than coverage: numbers, durations and
names that only resemble times are ignored. Rule-based, for English and Japanese, relative to the
day of the text.
"""

import re
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import NamedTuple

from acc_ace.core.text.dates import dates_en, dates_ja, relative_dates_en, relative_dates_ja
from acc_ace.core.text.dates.calendar_days import Days, Mention, Rule, joined, resolved
from acc_ace.core.text.normalize import normalise_cased
from acc_ace.core.text.patterns import lazy_pattern

MAX_PERIODS = 4
"""Maximum periods extracted from one text; the first ones."""

MAX_CHARS = 4_000
"""Maximum characters scanned."""

_CUE = lazy_pattern(
    r"[0-9年月日週曜昨夜晩朝]|ago\b|day\b|night\b|last\b|weekend|this |きのう|おとと|ゆうべ"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)",
    re.IGNORECASE,
)
"""Prefilter: every time expression matches it; without a match no rule is tried."""

_JAPANESE = lazy_pattern("[\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff]")
"""Kana and kanji; the Japanese rules are tried only if one occurs."""

_ITEM = lazy_pattern(r"[\r\n][ \t]*[-*•–][ \t]")
"""A list marker, which must not be read as the dash of a date range."""


class Period(NamedTuple):
    """A time range, `end` exclusive; both timezone-aware."""

    start: datetime
    end: datetime


def named_periods(text: str, now: datetime) -> tuple[Period, ...]:
    """The past periods named in a text, in order, at most MAX_PERIODS.

    `now` (timezone-aware) is the time of the text and its zone defines the days. A current period
    keeps its calendar end; future ones are omitted. Never raises.
    """
    seen = normalise_cased(_ITEM.sub("; ", text[:MAX_CHARS]))[:MAX_CHARS]
    if not _CUE.search(seen):
        return ()
    today = now.toordinal()
    periods: dict[Period, None] = {}
    for mention in joined(_apart(_mentions(seen, today)), seen, today):
        if len(periods) == MAX_PERIODS:
            break
        named = resolved(mention.named, today)
        if named and not mention.weak:
            periods[_period(named, now)] = None
    return tuple(periods)


def _rules(text: str) -> Iterator[Rule]:
    yield from dates_en.rules()
    yield from relative_dates_en.rules()
    if _JAPANESE.search(text):
        yield from dates_ja.rules()
        yield from relative_dates_ja.rules()


def _mentions(text: str, today: int) -> Iterator[Mention]:
    for rule in _rules(text):
        for match in rule.pattern.finditer(text):
            weak = bool(rule.weak and rule.weak(match))
            yield Mention(match.start(), match.end(), rule.read(match, today), weak)


def _apart(mentions: Iterator[Mention]) -> list[Mention]:
    """The mentions in order, without overlaps: the first wins, then the longest."""
    mentions_left: list[Mention] = []
    for mention in sorted(mentions, key=lambda mention: (mention.begin, -mention.end)):
        if not mentions_left or mention.begin >= mentions_left[-1].end:
            mentions_left.append(mention)
    return mentions_left


def _period(named: Days, now: datetime) -> Period:
    return Period(_midnight(named.first, now), _midnight(named.after, now))


def _midnight(day: int, now: datetime) -> datetime:
    # From the date, not by adding hours: days with a DST change have 23 or 25.
    return datetime.combine(date.fromordinal(day), time(), now.tzinfo)
