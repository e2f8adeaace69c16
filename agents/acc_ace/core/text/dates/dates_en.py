"""English absolute dates: '7 May 2023', 'May 3-7', 'in May', 'in 2023', '2023-05-07'.

'May', 'March' and bare numbers are usually not dates, so they need a cue word next to them.
"""

import re
from collections.abc import Callable
from datetime import date
from functools import cache

from acc_ace.core.text.dates.calendar_days import CalendarDate, Named, Rule, Stretch
from acc_ace.core.text.patterns import lazy_pattern

OPEN = r"(?<![\w.:/#@])(?<!\d[,\-])"
"""Where a number may start: not inside a version, path, time, tag or longer number."""
CLOSE = r"(?!\w|[.,:/]\d|%)"
"""Where it may end, likewise."""
WEEKDAY = r"(?P<weekday>mon|tues|wednes|thurs|fri|satur|sun)day"
WEEKDAYS = ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FULL = "january|february|march|april|may|june|july|august|september|october|november|december"
_MONTH = rf"(?P<month>(?:{_FULL}|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?))"
_YEAR = r"(?:,? (?:of )?(?:(?P<year>\d{4})|(?P<that>this|last) year))"
_CENTURIES = r"(?:19|20)\d\d"
_ON = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,? (?:the )?)?"
_ISO_OPEN = r"(?<![\w.,:/#@\-])"
_ISO_CLOSE = r"(?:(?=T\d\d:)|(?![\w\-/]|[.,:]\d))"

_MISTAKABLE = frozenset(("may", "march", "mar", "dec", "oct"))
"""Also verbs or identifiers before a number; certain only when capitalised: 'May', 'Dec'."""

_COUNTED = lazy_pattern(
    r" (?!(?:was|has|does|is|this|his|its|as|us|always|plus|versus|vs|towards|perhaps|besides)\b)"
    r"(?:[a-z]+s|people|(?:wo)?men|children|[kmgt]i?b|km|mm|cm|px|percent|usd|yen|more|times)\b"
)
"""A counted noun right after a number: '5 May bugs', 'in 2023 requests', 'March 5 km'."""

_DATE_CUE = lazy_pattern(
    r"\b(?:on|of|the|since|from|between|until|till|by|before|after|around) (?:the )?$",
    re.IGNORECASE,
)
_SURE_CUE = lazy_pattern(r"\b(?:on|in|by|since|during|before|after) (?:the )?$", re.IGNORECASE)
_MONTH_CUE = lazy_pattern(
    r"\b(?P<cue>in|since|during|throughout|last|this|from|of) (?:(?:early|late|mid)[ -])?$",
    re.IGNORECASE,
)
_YEAR_CUE = lazy_pattern(
    r"\b(?:in|since|during|throughout|of|year) (?:(?:early|late|mid)[ -])?$", re.IGNORECASE
)
_AMOUNT_CUE = lazy_pattern(
    r"\b(?:out|total|limit|max|maximum|min|minimum|count|sum|number|size|budget|threshold|average"
    r"|cost|price|rate|value|length|capacity|range|port|batch) of $",
    re.IGNORECASE,
)
_AFTER_YEAR = lazy_pattern(
    r"(?! [a-z])| (?:we|i|you|he|she|they|it|the|an?|my|our|his|her|their|and|or|but|that|this"
    r"|which|who|what|when|where|why|how|while|as|at|by|for|from|in|on|of|to|till|until|through|with"
    r"|about|was|were|is|are|did|do|does|had|has|have|because|if|so|than|then|before|after|during"
    r"|again|too|not|only)\b"
)
"""Words that may follow a year; any other lower-case word may be a counted noun."""
_ISO_MONTH_CUE = lazy_pattern(r"\b(?:in|since|during|of|from|until) $", re.IGNORECASE)
_SAID_OUT = lazy_pattern(r" ?(?:[?!,;)\]]|\.(?!\w)|$)")
_VERB_AFTER = lazy_pattern(r" (?:be|not|have|also|only|need|take|still|never|well|help|cause)\b")
"""Words after 'may' as a verb: 'Room 5 May be used'."""
_NOT_THIS_ONE = lazy_pattern(r"\b(?:next|every|each|coming|following) $", re.IGNORECASE)

_CONTEXT = 24
"""Characters before a match that are searched for its cue."""


@cache
def rules() -> tuple[Rule, ...]:
    """The rules, compiled on first use to keep imports fast."""
    day, first, last = (
        rf"(?P<{name}>\d{{1,2}})(?P<{name}th>st|nd|rd|th)?" for name in ("day", "first", "last")
    )
    to = r"(?:(?: ?- ?| to | until | through )(?:the )?|(?P<and> and )(?:the )?)"
    return (
        rule(rf"{OPEN}{_ON}{day} (?P<of>of )?{_MONTH}{_YEAR}?{CLOSE}", _day),
        rule(rf"{OPEN}{_ON}{_MONTH} (?:the )?{day}{_YEAR}?{CLOSE}", _day),
        rule(rf"{OPEN}{first}{to}{last} (?P<of>of )?{_MONTH}{_YEAR}?{CLOSE}", _days),
        rule(rf"{OPEN}{_MONTH} {first}{to}{last}{_YEAR}?{CLOSE}", _days),
        rule(rf"{OPEN}{_MONTH}{_YEAR}{CLOSE}", _month_of_year),
        rule(rf"{OPEN}{_MONTH}{CLOSE}", _month, weak=_bare_month),
        rule(rf"{OPEN}(?P<year>{_CENTURIES}){CLOSE}(?!-\d)", _year, weak=_bare_year),
        rule(
            rf"{OPEN}(?P<year>{_CENTURIES})-(?P<last>{_CENTURIES}){CLOSE}(?!-)",
            _years,
            weak=_bare_year,
        ),
        rule(
            rf"{_ISO_OPEN}(?P<year>\d{{4}})(?P<dash>[-/])(?P<month>\d\d?)(?P=dash)(?P<day>\d\d?)"
            rf"{_ISO_CLOSE}",
            _numbers,
        ),
        rule(
            rf"{_ISO_OPEN}(?P<year>{_CENTURIES})-(?P<month>\d\d){_ISO_CLOSE}",
            _numbers,
            weak=lambda match: not _ISO_MONTH_CUE.search(before(match)),
        ),
    )


def rule(
    pattern: str,
    read: Callable[[re.Match[str], int], Named | None],
    *,
    weak: Callable[[re.Match[str]], bool] | None = None,
) -> Rule:
    """A case-insensitive rule with ASCII character classes."""
    return Rule(lazy_pattern(pattern, re.ASCII | re.IGNORECASE), read, weak)


def before(match: re.Match[str]) -> str:
    """The text right before a match."""
    return match.string[max(0, match.start() - _CONTEXT) : match.start()]


def _day(match: re.Match[str], today: int) -> Named | None:
    counted = not (_year_said(match) or match["dayth"]) and _counts(match)
    if counted or _doubtful(match, match["dayth"]):
        return None
    return CalendarDate(_year_of(match, today), _month_of(match), int(match["day"]))


def _days(match: re.Match[str], today: int) -> Named | None:
    """'May 3-7' and '3 to 7 May'; with 'and' only after 'between'."""
    if match["and"] and not before(match).lower().endswith(("between ", "between the ")):
        return None
    if (not _year_said(match) and _counts(match)) or _doubtful(match, match["lastth"]):
        return None
    first = CalendarDate(_year_of(match, today), _month_of(match), int(match["first"]))
    return Stretch(first, first._replace(day=int(match["last"])))


def _month_of_year(match: re.Match[str], today: int) -> Named | None:
    if match["that"] and _doubtful(match, None):
        return None
    return CalendarDate(_year_of(match, today), _month_of(match))


def _month(match: re.Match[str], today: int) -> Named | None:
    if _NOT_THIS_ONE.search(before(match)):
        return None
    cue = _MONTH_CUE.search(before(match))
    word = cue["cue"].lower() if cue else ""
    month, now = _month_of(match), date.fromordinal(today)
    if word == "this":
        return CalendarDate(now.year, month)
    # In May, 'last May' is that of the previous year.
    return CalendarDate(now.year - 1 if word == "last" and now.month == month else None, month)


def _bare_month(match: re.Match[str]) -> bool:
    """Whether a month's name has no cue word next to it."""
    cue = _MONTH_CUE.search(before(match))
    if cue is None:
        return True
    written, word = match["month"].rstrip("."), cue["cue"].lower()
    if len(written) <= 4 and written.lower() not in ("may", "june", "july"):
        return not written.istitle() or word not in ("in", "since", "during", "last")
    if _mistakable(match):
        return word in ("last", "this", "from", "of") or not _SAID_OUT.match(
            match.string, match.end()
        )
    return False


def _year(match: re.Match[str], _today: int) -> Named | None:
    """None if the digits are a quantity: 'in 2000 open tickets', 'a limit of 2000'."""
    if not _AFTER_YEAR.match(match.string, match.end()) or _AMOUNT_CUE.search(before(match)):
        return None
    return CalendarDate(int(match["year"]))


def _years(match: re.Match[str], today: int) -> Named | None:
    first = _year(match, today)
    return Stretch(first, CalendarDate(int(match["last"]))) if first else None


def _bare_year(match: re.Match[str]) -> bool:
    """Whether four digits have no cue word that marks a year."""
    owner = match.string.startswith("'s ", match.end())
    return not owner and not _YEAR_CUE.search(before(match))


def _numbers(match: re.Match[str], _today: int) -> Named | None:
    day = match.groupdict().get("day")
    return CalendarDate(int(match["year"]), int(match["month"]), int(day) if day else None)


def _month_of(match: re.Match[str]) -> int:
    return _MONTHS.index(match["month"][:3].lower()) + 1


def _year_said(match: re.Match[str]) -> bool:
    return bool(match["year"] or match["that"])


def _year_of(match: re.Match[str], today: int) -> int | None:
    if match["that"]:
        return date.fromordinal(today).year - (match["that"].lower() == "last")
    return int(match["year"]) if match["year"] else None


def _counts(match: re.Match[str]) -> bool:
    counted = _COUNTED.match(match.string, match.end())
    return bool(counted) and not _DATE_CUE.search(before(match))


def _mistakable(match: re.Match[str]) -> bool:
    written = match["month"].rstrip(".")
    return written.lower() in _MISTAKABLE and not written.istitle()


def _doubtful(match: re.Match[str], ordinal: str | None) -> bool:
    """Whether 'may' or 'march' is probably a verb here ('the 7th may restart')."""
    if match["year"] or match.groupdict().get("of"):
        return False
    if match["month"].lower() == "may" and _VERB_AFTER.match(match.string, match.end("month")):
        return True
    if not _mistakable(match):
        return False
    named_first = match.start("month") == match.start()
    return not (named_first and ordinal) and not _SURE_CUE.search(before(match))
