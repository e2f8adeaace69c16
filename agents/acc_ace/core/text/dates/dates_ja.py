"""Japanese absolute dates: 「2023年5月7日」「去年の5月」「5月3日から7日」「5/7」."""

import re
from collections.abc import Callable
from datetime import date
from functools import cache

from acc_ace.core.text.dates.calendar_days import CalendarDate, Named, Rule, Stretch
from acc_ace.core.text.patterns import lazy_pattern

WEEKDAYS = "月火水木金土日"
NUMBER = r"(?:\d{1,4}|[一二三四五六七八九十]{1,3})"

_DIGITS = "一二三四五六七八九"
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925}
_YEARS_BACK = {
    "今年": 0,
    "本年": 0,
    "去年": 1,
    "昨年": 1,
    "一昨年": 2,
    "おととし": 2,
}
_OTHER_YEARS = "来年|再来年|翌年|前年|毎年|例年|何年"
_OPEN = r"(?<![\w.,:/#\-第])"
_YEAR = (
    r"(?P<year>\d{4}) ?年|(?P<era>令和|平成|昭和) ?(?P<era_year>[1-9]\d?|元) ?年"
    rf"|(?P<that>{'|'.join(_YEARS_BACK)}|{_OTHER_YEARS})"
)
_OF_YEAR = rf"(?:(?:{_YEAR}|(?<![一-龯の])(?P<ago>{NUMBER})年前) ?の? ?)?"
_DAY = r"\d{1,2}|[一二三四五六七八九十]{1,3}"
_ON = r"(?:\([月火水木金土日](?:曜日?)?\))?"
_CLOSE = r"(?![間目号]|あたり|当たり)"
_PART = "(?:[上中下]旬|半ば|末)?(?:ごろ|頃)?"
"""A part of a month; it is read as the whole month."""
_HALVES = frozenset(("1/2", "1/3", "2/3", "1/4", "3/4"))
"""These are more likely fractions than dates such as the second of January."""


@cache
def rules() -> tuple[Rule, ...]:
    """The rules, compiled on first use to keep imports fast."""
    until = r" ?(?:から|[~〜\-]) ?"
    return (
        rule(
            rf"{_OPEN}{_OF_YEAR}(?P<month>\d{{1,2}}) ?月"
            rf"(?: ?(?P<day>{_DAY}) ?日{_ON}|{_PART})?{_CLOSE}",
            _date,
        ),
        rule(rf"(?P<month>[一二三四五六七八九十]{{1,2}})月(?P<day>{_DAY})日{_ON}{_CLOSE}", _kanji),
        rule(
            rf"{_OPEN}{_OF_YEAR}(?P<month>\d{{1,2}}) ?月 ?(?P<first>\d{{1,2}}) ?日?{_ON}"
            rf"{until}(?P<last>\d{{1,2}}) ?日{_ON}{_CLOSE}",
            _days,
        ),
        rule(
            rf"{_OPEN}{_OF_YEAR}(?P<month>\d{{1,2}}) ?月?{until}(?P<last>\d{{1,2}}) ?月"
            rf"(?!\d|[一二三四五六七八九十間号])",
            _months,
        ),
        rule(rf"{_OPEN}(?:{_YEAR})(?![間度前後目号代])", _year),
        rule(
            rf"{_OPEN}(?<![比率])(?P<month>\d\d?)/(?P<day>\d\d?){_ON}"
            r"(?![\w/%\-]|[.,:]\d| ?(?:件|人|個|台|ページ|問|名|枚|回|本|点|完|の割|以[上下]|ず))",
            _slashed,
        ),
    )


def rule(
    pattern: str,
    read: Callable[[re.Match[str], int], Named | None],
    *,
    weak: Callable[[re.Match[str]], bool] | None = None,
) -> Rule:
    """A rule with ASCII character classes, so that a kanji next to a number is a boundary."""
    return Rule(lazy_pattern(pattern, re.ASCII), read, weak)


def number(text: str) -> int:
    """The value of digits or of 一 to 九十九; 0 for kanji that are not a number."""
    if text.isdigit():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    if not ten:
        return _digit(text)
    if len(tens) > 1 or len(ones) > 1 or tens == "十":
        return 0
    return (_digit(tens) if tens else 1) * 10 + (_digit(ones) if ones else 0)


def _digit(text: str) -> int:
    return _DIGITS.index(text) + 1 if len(text) == 1 else 0


def _date(match: re.Match[str], today: int) -> Named | None:
    return _in_year(match, today, CalendarDate(None, int(match["month"]), _day(match)))


def _kanji(match: re.Match[str], _today: int) -> Named | None:
    # The day is required: without it, it may be a name or a word (五月, 三月兎).
    return CalendarDate(None, number(match["month"]), _day(match))


def _days(match: re.Match[str], today: int) -> Named | None:
    first = CalendarDate(None, int(match["month"]), int(match["first"]))
    named = _in_year(match, today, first)
    return Stretch(named, named._replace(day=int(match["last"]))) if named else None


def _months(match: re.Match[str], today: int) -> Named | None:
    named = _in_year(match, today, CalendarDate(None, int(match["month"])))
    last = CalendarDate(None, int(match["last"]))
    return Stretch(named, last) if named else None


def _year(match: re.Match[str], today: int) -> Named | None:
    return _in_year(match, today, CalendarDate(None))


def _slashed(match: re.Match[str], _today: int) -> Named | None:
    """'5/7': month and day in Japanese; fractions such as '1/2' are not dates."""
    if match.group() in _HALVES:
        return None
    return CalendarDate(None, int(match["month"]), int(match["day"]))


def _in_year(match: re.Match[str], today: int, named: CalendarDate) -> CalendarDate | None:
    """The date with the preceding year, if any; None if that year is unknown (毎年, 翌年)."""
    parts = match.groupdict()
    if not (parts["year"] or parts["era"] or parts["that"] or parts.get("ago")):
        return named
    year = _year_of(parts, date.fromordinal(today).year)
    return None if year is None else named._replace(year=year)


def _year_of(groups: dict[str, str], this_year: int) -> int | None:
    if groups["year"]:
        return int(groups["year"])
    if era := groups["era"]:
        return _ERAS[era] + (1 if groups["era_year"] == "元" else int(groups["era_year"]))
    back = _YEARS_BACK.get(groups["that"]) if groups["that"] else number(groups["ago"]) or None
    return None if back is None else this_year - back


def _day(match: re.Match[str]) -> int | None:
    # 0 for kanji that are not a number: an invalid day.
    return number(match["day"]) if match["day"] else None
