"""English relative dates: 'yesterday', 'last Monday', '3 weeks ago'."""

import re
from functools import cache

from acc_ace.core.text.dates.calendar_days import (
    Days,
    Named,
    Rule,
    days,
    monday_of,
    month_of,
    newest_weekday,
    year_of,
)
from acc_ace.core.text.dates.dates_en import OPEN, WEEKDAY, WEEKDAYS, before, rule
from acc_ace.core.text.normalize import NUMBER_WORDS
from acc_ace.core.text.patterns import lazy_pattern

_WORD = r"(?<![\w.:/#@])"
_END = r"(?!\w)"
_BACK = {
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "yesterday": 1,
    "last night": 1,
    "last evening": 1,
    "day before yesterday": 2,
}
_AROUND = lazy_pattern(
    r"(?:\b(?:(?:more|less|fewer) than|over|under|at least|at most|or|half|to)|\d ?-) ?$",
    re.IGNORECASE,
)
_VERB_OR_ROLLING = lazy_pattern(
    r"\b(?:the|will|may|can|could|should|would|must|might|to|not|never|do|does|did|won't|can't"
    r"|don't|doesn't|didn't) $",
    re.IGNORECASE,
)
"""'The last week' is the past seven days, and in 'it may last this week' it is a verb."""
_WEEKDAY_CUE = lazy_pattern(r"\b(?P<cue>on|last|past|this|since|from) $", re.IGNORECASE)
_OTHER_DAY = lazy_pattern(
    r"\b(?:next|every|each|any|coming|following|a|until|till|by) $", re.IGNORECASE
)
_WEEKS_BACK = {"last": 1, "this": 0, "next": -1}


@cache
def rules() -> tuple[Rule, ...]:
    """The rules, compiled on first use to keep imports fast."""
    number = rf"(?P<number>\d{{1,4}}|an?|(?:a )?couple(?: of)?|{'|'.join(NUMBER_WORDS)})"
    names = "|".join(_BACK)
    return (
        rule(rf"{_WORD}(?:the )?(?P<name>{names}){_END}", _day),
        rule(rf"{OPEN}{number} (?P<unit>day|week|month|year)s? ago{_END}", _ago),
        rule(rf"{_WORD}(?P<which>this|last) (?P<unit>week|month|year){_END}", _whole),
        rule(rf"{_WORD}the (?P<unit>week|month|year) before last{_END}", _before_last),
        rule(rf"{_WORD}{WEEKDAY}{_END}(?! week\b)", _weekday, weak=_bare_weekday),
        rule(rf"{_WORD}last (?P<short>mon|tues?|wed|thu(?:rs?)?|fri|sat|sun){_END}", _short),
        rule(rf"{_WORD}{WEEKDAY},? (?:of )?(?P<which>this|last|next) week{_END}", _day_of_week),
        rule(rf"{_WORD}(?P<which>this|last|next) week(?:'s|,? on)? {WEEKDAY}{_END}", _day_of_week),
        rule(
            rf"{_WORD}(?P<which>this|last|(?:over|on|at|during) the) weekend{_END}",
            _weekend,
        ),
    )


def _day(match: re.Match[str], today: int) -> Named | None:
    return days(today - _BACK[match["name"].lower()])


def _ago(match: re.Match[str], today: int) -> Named | None:
    if _AROUND.search(before(match)):
        return None
    word = match["number"].lower()
    if word.isdigit():
        count = int(word)
    elif word in NUMBER_WORDS:
        count = NUMBER_WORDS[word]
    else:
        count = 2 if "couple" in word else 1
    return back(match["unit"].lower(), count, today)


def _whole(match: re.Match[str], today: int) -> Named | None:
    last = match["which"].lower() == "last"
    following = match.string[match.end() : match.end() + 7].lower()
    if following.startswith((" of", " after")) or (last and _VERB_OR_ROLLING.search(before(match))):
        return None
    return back(match["unit"].lower(), int(last), today)


def _before_last(match: re.Match[str], today: int) -> Named | None:
    return back(match["unit"].lower(), 2, today)


def back(unit: str, count: int, today: int) -> Named | None:
    """The day, calendar week (from Monday), month or year `count` units back."""
    match unit:
        case "day":
            return days(today - count)
        case "week":
            return week(today, count)
        case "month":
            return month_of(today, count)
    return year_of(today, count)


def week(today: int, count: int) -> Days | None:
    """The calendar week `count` weeks back."""
    return days(monday_of(today) - 7 * count, 7)


def _weekday(match: re.Match[str], today: int) -> Named | None:
    if _OTHER_DAY.search(before(match)):
        return None
    weekday = WEEKDAYS.index(match["weekday"].lower())
    cue = _WEEKDAY_CUE.search(before(match))
    word = cue["cue"].lower() if cue else ""
    if word == "this":
        return days(monday_of(today) + weekday)
    return days(newest_weekday(weekday, today - (word in ("last", "past"))))


def _short(match: re.Match[str], today: int) -> Named | None:
    """'Last Fri'; in lower case it may be another word ('where I last sat')."""
    if not match["short"].istitle():
        return None
    names = [name[:3] for name in WEEKDAYS]
    return days(newest_weekday(names.index(match["short"][:3].lower()), today - 1))


def _bare_weekday(match: re.Match[str]) -> bool:
    return not _WEEKDAY_CUE.search(before(match))


def _day_of_week(match: re.Match[str], today: int) -> Named | None:
    weekday = WEEKDAYS.index(match["weekday"].lower())
    return days(monday_of(today) - 7 * _WEEKS_BACK[match["which"].lower()] + weekday)


def _weekend(match: re.Match[str], today: int) -> Named | None:
    which = match["which"].lower()
    if which == "this":
        return days(monday_of(today) + 5, 2)
    # The last weekend is over: its Sunday is before today.
    return days(newest_weekday(5, today - 2 if which == "last" else today), 2)
