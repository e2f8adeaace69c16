"""Days of the calendar as texts name them: whole, in part, or from one to another."""

import re
from calendar import monthrange
from collections.abc import Callable, Sequence
from datetime import date
from typing import NamedTuple

from acc_ace.text.patterns import lazy_pattern

FIRST_YEAR, LAST_YEAR = 2, 9998
"""A year of room at both ends of what Python can count, so that every zone holds every day."""

_EARLIEST = date(FIRST_YEAR, 1, 1).toordinal()
_LATEST = date(LAST_YEAR, 12, 31).toordinal()
_LEAP_GAP = 8
"""The most years between two 29ths of February."""


class Days(NamedTuple):
    """Whole days in a row, `after` exclusive; both proleptic ordinals (`date.toordinal`)."""

    first: int
    after: int


class CalendarDate(NamedTuple):
    """A date as far as it was said; year 2023 alone, May 2023, or 7 May of a year left open."""

    year: int | None
    month: int | None = None
    day: int | None = None


class Stretch(NamedTuple):
    """From the start of one date to the end of another; a year left open is found from both."""

    first: "Named"
    last: "Named"


Named = Days | CalendarDate | Stretch


class Mention(NamedTuple):
    """A place in a text that speaks of a time."""

    begin: int
    end: int
    named: Named | None
    """None: it was understood, and names nothing of the past ('next Monday')."""
    weak: bool = False
    """Whether it counts only as the other end of a stretch ('between May and July')."""


class Rule(NamedTuple):
    """A wording and how to read it, given the match and today's ordinal."""

    pattern: re.Pattern[str]
    read: Callable[[re.Match[str], int], Named | None]
    weak: Callable[[re.Match[str]], bool] | None = None


def days(first: int, count: int = 1) -> Days | None:
    """`count` days from an ordinal on, or None beyond the calendar."""
    inside = first >= _EARLIEST and first + count - 1 <= _LATEST
    return Days(first, first + count) if inside else None


def monday_of(day: int) -> int:
    """The ordinal of the Monday on or before a day."""
    return day - (day - 1) % 7


def newest_weekday(weekday: int, not_after: int) -> int:
    """The ordinal of the newest such weekday (Monday 0) that is not after a day."""
    return not_after - (not_after - 1 - weekday) % 7


def month_of(today: int, back: int = 0) -> CalendarDate:
    """The month that lies `back` months before today's."""
    now = date.fromordinal(today)
    year, month = divmod(now.year * 12 + now.month - 1 - back, 12)
    return CalendarDate(year, month + 1)


def year_of(today: int, back: int = 0) -> CalendarDate:
    """The year that lies `back` years before today's."""
    return CalendarDate(date.fromordinal(today).year - back)


def resolved(named: Named | None, today: int) -> Days | None:
    """The days that are meant, seen from today; None where they are not of the past."""
    found = _resolved(named, today)
    return found if found and found.first <= today else None


def _resolved(named: Named | None, today: int) -> Days | None:
    match named:
        case CalendarDate(year=None):
            return _newest(named, today)
        case CalendarDate():
            return _whole(named)
        case Stretch():
            return _stretched(named, today)
    return named


def _whole(said: CalendarDate) -> Days | None:
    """The days of a date whose year is known."""
    year, month, day = said
    if year is None or not FIRST_YEAR <= year <= LAST_YEAR:
        return None
    if month is None:
        return days(date(year, 1, 1).toordinal(), date(year, 12, 31).timetuple().tm_yday)
    if not 1 <= month <= 12:
        return None
    length = monthrange(year, month)[1]
    if day is None:
        return days(date(year, month, 1).toordinal(), length)
    return days(date(year, month, day).toordinal()) if 1 <= day <= length else None


def _newest(said: CalendarDate, today: int) -> Days | None:
    """The newest such date that has started."""
    this_year = date.fromordinal(today).year
    for year in range(this_year, this_year - _LEAP_GAP - 1, -1):
        found = _whole(said._replace(year=year))
        if found and found.first <= today:
            return found
    return None


def _next(said: CalendarDate, begin: int) -> Days | None:
    """The earliest such date that does not end before a day."""
    first_year = date.fromordinal(begin).year
    for year in range(first_year, first_year + _LEAP_GAP + 1):
        found = _whole(said._replace(year=year))
        if found and found.after > begin:
            return found
    return None


def _stretched(said: Stretch, today: int) -> Days | None:
    """Both ends as one; of two open years, the beginning's is the newest that has started."""
    first, last = said
    if _open(first) and not _open(last):
        end = _resolved(last, today)
        begin = _resolved(first, end.after - 1) if end else None
    else:
        begin = _resolved(first, today)
        end = _end(last, begin, today) if begin else None
    return Days(begin.first, end.after) if begin and end and begin.first < end.after else None


def _end(last: Named, begin: Days, today: int) -> Days | None:
    if isinstance(last, CalendarDate) and last.year is None:
        return _next(last, begin.first)
    return _resolved(last, today)


def _open(named: Named) -> bool:
    return isinstance(named, CalendarDate) and named.year is None


_TO = lazy_pattern(
    r"(?: ?[-~〜] ?| (?:to|until|till|through) (?:the |on )?|から、?)", re.IGNORECASE
)
_AND = lazy_pattern(r" and (?:the |on )?", re.IGNORECASE)
_ALSO = lazy_pattern(r" (?:and|or) (?:in )?", re.IGNORECASE)
_BETWEEN = lazy_pattern(r"\bbetween (?:the |last |this )?$", re.IGNORECASE)
_FROM = lazy_pattern(r"\b(?:from|between) (?:the |last |this )?$", re.IGNORECASE)
_SINCE = lazy_pattern(r"\bsince (?:the |last |this )?$", re.IGNORECASE)
_ONWARDS = lazy_pattern("以[降来]")
_CONTEXT = 16


class _Link(NamedTuple):
    """The text before, between and after two mentions."""

    before: str
    between: str
    after: str


def joined(mentions: Sequence[Mention], text: str, today: int) -> list[Mention]:
    """The mentions, those that are two ends as one and those with 'since' up to today.

    A weak mention stays weak unless its neighbour or the words around say that it is a time.
    """
    found: list[Mention] = []
    for mention in mentions:
        last = found[-1] if found else None
        one = _one(last, mention, text) if last else None
        if one:
            found[-1] = one
        elif last and _alike(last, mention, text):
            found.append(mention._replace(weak=False))
        else:
            found.append(mention)
    return [_since(mention, text, today) for mention in found]


def _one(first: Mention, last: Mention, text: str) -> Mention | None:
    """Both as one stretch, if the text says so."""
    if first.named is None or last.named is None or isinstance(first.named, Stretch):
        return None
    link = _Link(
        text[max(0, first.begin - _CONTEXT) : first.begin],
        text[first.end : last.begin],
        text[last.end : last.end + 2],
    )
    if not _spans(link) or (first.weak and not _FROM.search(link.before)):
        return None
    return Mention(first.begin, last.end, Stretch(first.named, last.named))


def _spans(link: _Link) -> bool:
    if _TO.fullmatch(link.between):
        return True
    if link.between == "と":
        return link.after == "の間"
    return bool(_AND.fullmatch(link.between) and _BETWEEN.search(link.before))


def _alike(first: Mention, second: Mention, text: str) -> bool:
    """Whether the second is said in one breath with a sure date ('in 2022 and 2023')."""
    a, b = first.named, second.named
    if first.weak or not (isinstance(a, CalendarDate) and isinstance(b, CalendarDate)):
        return False
    same = (a.month is None, a.day is None) == (b.month is None, b.day is None)
    return same and bool(_ALSO.fullmatch(text[first.end : second.begin]))


def _since(mention: Mention, text: str, today: int) -> Mention:
    """With 'since' before or 以降 after it, a mention reaches up to the end of today."""
    said = _SINCE.search(text[max(0, mention.begin - _CONTEXT) : mention.begin])
    now = days(today)
    if mention.named is None or now is None or isinstance(mention.named, Stretch):
        return mention
    if not (said or _ONWARDS.match(text, mention.end)):
        return mention
    return mention._replace(named=Stretch(mention.named, now))
