"""Calendar days named in texts: full dates, partial dates and ranges."""

import re
from calendar import monthrange
from collections.abc import Callable, Sequence
from datetime import date
from typing import NamedTuple

from acc_ace.core.text.patterns import lazy_pattern

FIRST_YEAR, LAST_YEAR = 2, 9998
"""One year inside Python's range at both ends, so that every day is valid in every time zone."""

_EARLIEST = date(FIRST_YEAR, 1, 1).toordinal()
_LATEST = date(LAST_YEAR, 12, 31).toordinal()
_LEAP_GAP = 8
"""Maximum years between two 29ths of February."""


class Days(NamedTuple):
    """Consecutive days, `after` exclusive; both proleptic ordinals (`date.toordinal`)."""

    first: int
    after: int


class CalendarDate(NamedTuple):
    """A possibly partial date: 2023, May 2023, or 7 May without a year."""

    year: int | None
    month: int | None = None
    day: int | None = None


class Stretch(NamedTuple):
    """A range from one date to another; a missing year is inferred from the other end."""

    first: "Named"
    last: "Named"


Named = Days | CalendarDate | Stretch


class Mention(NamedTuple):
    """A time expression in a text."""

    begin: int
    end: int
    named: Named | None
    """None: recognised, but not in the past ('next Monday')."""
    weak: bool = False
    """Whether it counts only as one end of a range ('between May and July')."""


class Rule(NamedTuple):
    """A pattern and its reader, which gets the match and today's ordinal."""

    pattern: re.Pattern[str]
    read: Callable[[re.Match[str], int], Named | None]
    weak: Callable[[re.Match[str]], bool] | None = None


def days(first: int, count: int = 1) -> Days | None:
    """`count` days from an ordinal, or None outside the calendar."""
    inside = first >= _EARLIEST and first + count - 1 <= _LATEST
    return Days(first, first + count) if inside else None


def monday_of(day: int) -> int:
    """The ordinal of the Monday on or before a day."""
    return day - (day - 1) % 7


def newest_weekday(weekday: int, not_after: int) -> int:
    """The ordinal of the latest such weekday (Monday 0) on or before a day."""
    return not_after - (not_after - 1 - weekday) % 7


def month_of(today: int, back: int = 0) -> CalendarDate:
    """The month `back` months before today's."""
    now = date.fromordinal(today)
    year, month = divmod(now.year * 12 + now.month - 1 - back, 12)
    return CalendarDate(year, month + 1)


def year_of(today: int, back: int = 0) -> CalendarDate:
    """The year `back` years before today's."""
    return CalendarDate(date.fromordinal(today).year - back)


def resolved(named: Named | None, today: int) -> Days | None:
    """The days of a named date, relative to today; None if it starts in the future."""
    result = _resolved(named, today)
    return result if result and result.first <= today else None


def _resolved(named: Named | None, today: int) -> Days | None:
    match named:
        case CalendarDate(year=None):
            return _newest(named, today)
        case CalendarDate():
            return _whole(named)
        case Stretch():
            return _stretched(named, today)
    return named


def _whole(stretch: CalendarDate) -> Days | None:
    """The days of a date with a year."""
    year, month, day = stretch
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


def _newest(named: CalendarDate, today: int) -> Days | None:
    """The latest such date that has started."""
    this_year = date.fromordinal(today).year
    for year in range(this_year, this_year - _LEAP_GAP - 1, -1):
        result = _whole(named._replace(year=year))
        if result and result.first <= today:
            return result
    return None


def _next(named: CalendarDate, begin: int) -> Days | None:
    """The earliest such date that ends on or after a day."""
    first_year = date.fromordinal(begin).year
    for year in range(first_year, first_year + _LEAP_GAP + 1):
        result = _whole(named._replace(year=year))
        if result and result.after > begin:
            return result
    return None


def _stretched(stretch: Stretch, today: int) -> Days | None:
    """The days of a range; if both years are missing, the start is the latest one in the past."""
    first, last = stretch
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
    """Merge mentions that are two ends of a range; extend those with 'since' to today.

    A weak mention stays weak unless its neighbour or the context marks it as a time.
    """
    result: list[Mention] = []
    for mention in mentions:
        last = result[-1] if result else None
        one = _one(last, mention, text) if last else None
        if one:
            result[-1] = one
        elif last and _alike(last, mention, text):
            result.append(mention._replace(weak=False))
        else:
            result.append(mention)
    return [_since(mention, text, today) for mention in result]


def _one(first: Mention, last: Mention, text: str) -> Mention | None:
    """Both mentions as one range, or None."""
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
    """Whether the second is coordinated with a certain date ('in 2022 and 2023')."""
    a, b = first.named, second.named
    if first.weak or not (isinstance(a, CalendarDate) and isinstance(b, CalendarDate)):
        return False
    same = (a.month is None, a.day is None) == (b.month is None, b.day is None)
    return same and bool(_ALSO.fullmatch(text[first.end : second.begin]))


def _since(mention: Mention, text: str, today: int) -> Mention:
    """Extend a mention with 'since' before or 以降 after it to the end of today."""
    match = _SINCE.search(text[max(0, mention.begin - _CONTEXT) : mention.begin])
    now = days(today)
    if mention.named is None or now is None or isinstance(mention.named, Stretch):
        return mention
    if not (match or _ONWARDS.match(text, mention.end)):
        return mention
    return mention._replace(named=Stretch(mention.named, now))
