"""Japanese relative dates: 「昨日」「先週の金曜」「3日前」."""

import re
from functools import cache

from acc_ace.core.text.dates.calendar_days import (
    CalendarDate,
    Named,
    Rule,
    days,
    monday_of,
    month_of,
    newest_weekday,
)
from acc_ace.core.text.dates.dates_ja import NUMBER, WEEKDAYS, number, rule
from acc_ace.core.text.dates.relative_dates_en import back

_BACK = {
    "今日": 0,
    "本日": 0,
    "今朝": 0,
    "今晩": 0,
    "今夜": 0,
    "昨日": 1,
    "きのう": 1,
    "昨夜": 1,
    "昨晩": 1,
    "ゆうべ": 1,
    "一昨日": 2,
    "おととい": 2,
}
_WEEKS = {"今週": 0, "先週": 1, "先々週": 2, "来週": -1, "再来週": -2}
_MONTHS = {"今月": 0, "先月": 1, "先々月": 2, "来月": -1, "再来月": -2}
_UNITS = {"日": "day", "週間": "week", "年": "year"}
_WEEKDAY = rf"(?P<weekday>[{WEEKDAYS}])曜日?+"
_LAST = frozenset(("先の", "前の", "この前の", "先日の"))


@cache
def rules() -> tuple[Rule, ...]:
    """The rules, compiled on first use to keep imports fast."""
    weeks, months = "|".join(_WEEKS), "|".join(_MONTHS)
    return (
        # 昨今日本 contains 日本, not 今日; そのときのうわさ does not contain きのう.
        rule(
            r"(?P<name>一昨日|おととい|昨日|(?<![\u3041-\u306b\u306e\u3072-\u3081\u3083-\u3096])"
            r"きのう|昨夜|昨晩|ゆうべ|今朝|今晩|今夜"
            r"|(?<!昨)今日(?!本(?:[はがのをにでも、語人国円]|$))|(?<!日)本日)(?![的々])",
            _day,
        ),
        rule(
            rf"(?<![\d.,一-龯の])(?:約|今から)?(?P<number>{NUMBER}) ?"
            r"(?P<unit>日|週間|(?:[ヶケかカヵ]|箇|個)月|年)(?:ほど|くらい|ぐらい)?前"
            r"(?![後払半期提倒置々])",
            _ago,
        ),
        rule(rf"(?P<which>{weeks}|毎週|翌週|前週)の? ?{_WEEKDAY}", _day_of_week),
        rule(rf"(?P<which>{weeks})(?P<end>末)?(?![号間刊])", _week),
        rule(
            rf"(?P<which>{months}|毎月|翌月|前月)の? ?(?P<day>\d{{1,2}}) ?日(?![間前後目])",
            _day_of_month,
        ),
        rule(rf"(?P<which>{months})(?![号間謝刊])", _month),
        rule(
            r"(?P<which>(?:この前|今度|先日|次|前|先)の|毎|隔週?の?|来る)?"
            rf"(?<![\d{WEEKDAYS}])(?<![{WEEKDAYS}][・、])(?<!第.)"
            rf"{_WEEKDAY}(?!ごと|以外|大工|版|[・、][{WEEKDAYS}])",
            _weekday,
            weak=_deadline,
        ),
    )


def _day(match: re.Match[str], today: int) -> Named | None:
    return days(today - _BACK[match["name"]])


def _ago(match: re.Match[str], today: int) -> Named | None:
    count = number(match["number"])
    return back(_UNITS.get(match["unit"], "month"), count, today) if count else None


def _day_of_week(match: re.Match[str], today: int) -> Named | None:
    weeks = _WEEKS.get(match["which"])
    if weeks is None:
        return None
    return days(monday_of(today) - 7 * weeks + WEEKDAYS.index(match["weekday"]))


def _week(match: re.Match[str], today: int) -> Named | None:
    monday = monday_of(today) - 7 * _WEEKS[match["which"]]
    return days(monday + 5, 2) if match["end"] else days(monday, 7)


def _day_of_month(match: re.Match[str], today: int) -> Named | None:
    months = _MONTHS.get(match["which"])
    if months is None:
        return None
    return month_of(today, months)._replace(day=int(match["day"]))


def _month(match: re.Match[str], today: int) -> CalendarDate | None:
    return month_of(today, _MONTHS[match["which"]])


def _deadline(match: re.Match[str]) -> bool:
    """Whether it is a deadline or the end of a range."""
    return match.string.startswith("まで", match.end())


def _weekday(match: re.Match[str], today: int) -> Named | None:
    which = match["which"]
    if which and which not in _LAST:
        return None
    return days(newest_weekday(WEEKDAYS.index(match["weekday"]), today - bool(which)))
