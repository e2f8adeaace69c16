"""Days of the calendar, as texts name them: whole, in part, or from one to another.

Everything is counted in whole days without a zone; whoever knows the zone makes times of them.
Nothing here raises: a day that no calendar holds is None.
"""

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date
from typing import NamedTuple

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
    """The newest such date that has begun."""
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
    """Both ends as one; of two open years, the beginning's is the newest that has begun."""
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
