"""How English texts name times of the past."""

import re
from collections.abc import Callable
from functools import cache

from core.domain.language.calendar_days import CalendarDate, Named, Rule

_MONTH = (
    r"(?P<month>january|february|march|april|may|june|july|august|september|october|november"
    r"|december|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,? (?P<year>\d{4}))"
_OPEN = r"(?<![\w.,:/#\-])"
_CLOSE = r"(?!\w|[.:/]\d|%)"


@cache
def rules() -> tuple[Rule, ...]:
    """The wordings of English, compiled at the first use so that importing stays quick."""
    return (
        _rule(rf"{_OPEN}{_DAY} (?:of )?{_MONTH}{_YEAR}?{_CLOSE}", _date),
        _rule(rf"{_OPEN}{_MONTH} {_DAY}{_YEAR}?{_CLOSE}", _date),
        _rule(rf"{_OPEN}{_MONTH}{_YEAR}{_CLOSE}", _date),
        _rule(
            rf"{_OPEN}(?P<year>\d{{4}})(?P<dash>[-/])(?P<month>\d\d?)(?P=dash)(?P<day>\d\d?)"
            r"(?![\w\-/]|[.:]\d)",
            _numbers,
        ),
    )


def _rule(pattern: str, read: Callable[[re.Match[str], int], Named | None]) -> Rule:
    return Rule(re.compile(pattern, re.ASCII | re.IGNORECASE), read)


def _date(match: re.Match[str], _today: int) -> Named | None:
    said = match.groupdict()
    month = _MONTHS.index(said["month"][:3].lower()) + 1
    return CalendarDate(_number(said["year"]), month, _number(said.get("day")))


def _numbers(match: re.Match[str], _today: int) -> Named | None:
    return CalendarDate(int(match["year"]), int(match["month"]), int(match["day"]))


def _number(digits: str | None) -> int | None:
    return int(digits) if digits else None
