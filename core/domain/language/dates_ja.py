"""How Japanese texts name times of the past."""

import re
from functools import cache

from core.domain.language.calendar_days import CalendarDate, Named, Rule

_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925}
_YEAR = r"(?:(?P<year>\d{4})|(?P<era>令和|平成|昭和)(?P<era_year>\d{1,2}|元))年"
_OPEN = r"(?<![\w.,:/#\-])"


@cache
def rules() -> tuple[Rule, ...]:
    """The wordings of Japanese, compiled at the first use so that importing stays quick."""
    return (
        Rule(
            re.compile(
                rf"{_OPEN}(?:{_YEAR}の?)?(?P<month>\d{{1,2}})月(?:(?P<day>\d{{1,2}})日)?(?![間号])",
                re.ASCII,
            ),
            _date,
        ),
        Rule(re.compile(rf"{_OPEN}{_YEAR}(?![間度前後目])", re.ASCII), _date),
    )


def _date(match: re.Match[str], _today: int) -> Named | None:
    said = match.groupdict()
    return CalendarDate(_year(match), _number(said.get("month")), _number(said.get("day")))


def _year(match: re.Match[str]) -> int | None:
    if era := match["era"]:
        return _ERAS[era] + (1 if match["era_year"] == "元" else int(match["era_year"]))
    return _number(match["year"])


def _number(digits: str | None) -> int | None:
    return int(digits) if digits else None
