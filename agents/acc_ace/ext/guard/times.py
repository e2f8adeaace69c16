"""When a rule holds: hours, days and dates that it names, and whether a moment lies within."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from acc_ace.core.text.dates.dates_ja import WEEKDAYS
from acc_ace.core.text.dates.periods import named_periods
from acc_ace.core.text.normalize import normalise
from acc_ace.core.text.patterns import lazy_pattern

_EN_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CLOCK: Final = (
    r"(?:noon|midnight|正午|(?:午前|午後)?\d{1,2}(?::\d{2}|時半|時(?:\d{1,2}分)?)?"
    r"\s*(?:am|pm|a\.m\.|p\.m\.)?)"
)
_RANGE: Final = lazy_pattern(
    rf"(?:between|from)?\s*(?<![\d-])(?P<a>{_CLOCK})"
    rf"\s*(?:and|to|until|[-–~〜～]|から)\s*(?P<b>{_CLOCK})(?![\d年月-])"
)
_HOUR_MARK: Final = lazy_pattern(r":\d\d|時|am\b|pm\b|a\.m|p\.m|noon|midnight|正午|hours")
_AFTER: Final = lazy_pattern(
    rf"\b(?:after|past|later than)\s+(?P<a>{_CLOCK})|(?P<b>{_CLOCK})(?:以降|過ぎ|より後)"
)
_BEFORE: Final = lazy_pattern(rf"\bbefore\s+(?P<a>{_CLOCK})|(?P<b>{_CLOCK})(?:より前|以前|前)")
_UNTIL: Final = lazy_pattern(
    rf"\b(?:until|till|by|no later than|latest)\s+(?P<a>{_CLOCK})|(?P<b>{_CLOCK})まで"
)
_BUSINESS: Final = lazy_pattern(
    r"\b(?:business|office|working|opening) hours\b|営業時間|業務時間|勤務時間"
)
_NIGHT: Final = lazy_pattern(r"\b(?:at night|overnight|during the night)\b|夜間|深夜")
_WEEKEND: Final = lazy_pattern(r"\bweekends?\b|週末|土日")
_WEEKDAY: Final = lazy_pattern(r"\b(?:week|school|working|business) ?days?\b|平日")
_A_DAY: Final = rf"({'|'.join(_EN_DAYS)})"
_EN_DAY: Final = lazy_pattern(rf"\b{_A_DAY}(?:days?|sdays?|nesdays?|rsdays?|urdays?|s)?\b")
_EN_SPAN: Final = lazy_pattern(rf"\b{_A_DAY}\w*\s*(?:-|–|to)\s*{_A_DAY}\w*")
_JA_DAY: Final = lazy_pattern(rf"([{WEEKDAYS}])曜日?")
_BEFORE_DATE: Final = lazy_pattern(r"\bbefore\b|\buntil\b|より前|まで(?:は)?|前に")
_AFTER_DATE: Final = lazy_pattern(r"\bafter\b|\bfrom\b|以降|より後")
_YEAR: Final = lazy_pattern(r"\b\d{4}\b|\d{4}年")
_ZONE: Final = lazy_pattern(
    r",? ?\(?\b(?P<city>[a-z]+(?: [a-z]+)?) (?:local )?time\b\)?"
    r"|\b(?P<short>utc|gmt|cet|est|jst)\b|(?P<ja>日本時間)"
)
_ISO: Final = lazy_pattern(r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_CLOCK_VALUE: Final = lazy_pattern(r"^\d{1,2}:\d\d$")

_LATER: Final = datetime(2150, 1, 1, tzinfo=UTC)
"""Dates are read as if said so much later, since those of the future are read as none."""


@dataclass(frozen=True)
class Window:
    """When a rule speaks of: days of the week, minutes of the day, an end or a begin for good."""

    days: frozenset[int] | None = None
    hours: tuple[int, int] | None = None
    before: datetime | None = None
    after: datetime | None = None
    until: int | None = None
    """Minute of the day after which an argument is too late."""
    zone: str = ""
    """The zone that the rule names; the user's by default."""
    only: bool = False
    """Whether the rule forbids what lies outside."""

    def holds(self, at: datetime) -> bool:
        """Whether the moment lies within."""
        at = self.zoned(at)
        if self.before and at >= _zoned_as(self.before, at):
            return False
        if self.after and at < _zoned_as(self.after, at):
            return False
        if self.days is not None and at.weekday() not in self.days:
            return False
        return self.hours is None or _within(at.hour * 60 + at.minute, self.hours)

    def zoned(self, at: datetime) -> datetime:
        """A moment in the zone of the rule."""
        return at.astimezone(ZoneInfo(self.zone)) if self.zone else at


def window_of(text: str) -> tuple[Window | None, str]:
    """The window that a normalised rule names, and the rule without the words of time."""
    if _YEAR.search(text):
        return _dated(text)
    zone, plain = _zone(text)
    days, rest = _days(plain)
    hours, until, rest = _hours(rest)
    if _BUSINESS.search(rest):
        rest = _BUSINESS.sub(" ", rest)
        hours = hours or (9 * 60, 18 * 60)
        days = days or frozenset(range(5))
    if _NIGHT.search(rest):
        rest, hours = _NIGHT.sub(" ", rest), hours or (22 * 60, 6 * 60)
    if days is None and hours is None and until is None:
        return None, text
    return Window(days, hours, until=until, zone=zone), rest


def applies(window: Window, values: Sequence[object], at: datetime, *, standing: bool) -> bool:
    """Whether a call with these argument values falls into what a window speaks of.

    `standing`: what is set holds on all days, so that the day of the call does not matter.
    """
    meant, days = moments_in(values, at), days_in(values)
    if window.until is not None:
        zoned = [window.zoned(moment) for moment in meant]
        return any(moment.hour * 60 + moment.minute > window.until for moment in zoned)
    if window.days is not None and days:
        inside = bool(days & window.days)
    elif standing and not meant and window.hours is None and window.before is window.after:
        inside = not window.only
    else:
        inside = (all if window.only else any)(map(window.holds, meant or [at]))
    return inside != window.only


def _zone(text: str) -> tuple[str, str]:
    """The time zone that a rule names, and the rule without it."""
    match = _ZONE.search(text)
    name = match and (match["city"] or match["short"] or match["ja"])
    zone = _cities().get(name.replace(" ", "_"), "") if name else ""
    return (zone, text.replace(match.group(), " ")) if match and zone else ("", text)


@cache
def _cities() -> Mapping[str, str]:
    known = {zone.rpartition("/")[2].lower(): zone for zone in sorted(available_timezones())}
    return {**known, "jst": "Asia/Tokyo", "日本時間": "Asia/Tokyo", "gmt": "UTC"}


def moments_in(values: Iterable[object], at: datetime) -> list[datetime]:
    """The moments that values are, in the zone of `at`."""
    return [moment for value in values if (moment := _moment(value, at)) is not None]


def days_in(values: Iterable[object]) -> frozenset[int]:
    """Days of the week that values name."""
    words = [normalise(value) for value in values if isinstance(value, str) and len(value) <= 12]
    return frozenset(day for word in words for day in _days(word)[0] or ())


def _moment(value: object, at: datetime) -> datetime | None:
    if not isinstance(value, str):
        return None
    if _ISO.match(value):
        try:
            moment = datetime.fromisoformat(value)
            # Near the first and the last year a zone has no such moment.
            return (
                moment.astimezone(at.tzinfo) if moment.tzinfo else moment.replace(tzinfo=at.tzinfo)
            )
        except (ValueError, OverflowError):
            return None
    if _CLOCK_VALUE.match(value):
        hour, minute = (int(part) for part in value.split(":"))
        if hour < 24 and minute < 60:
            return datetime.combine(at.date(), time(hour, minute), at.tzinfo)
    return None


def _dated(text: str) -> tuple[Window | None, str]:
    periods = named_periods(text, _LATER)
    if not periods:
        return None, text
    zone = UTC if re.search(r"\b(?:gmt|utc)\b", text) else None
    begin, end = periods[0].start.replace(tzinfo=zone), periods[-1].end.replace(tzinfo=zone)
    clock = re.search(r"\b\d{1,2}:\d\d\b|\d{1,2}時半?", text)
    if clock is not None:
        minute = _minute(clock.group())
        begin = begin.replace(hour=minute // 60 % 24, minute=minute % 60)
    if _BEFORE_DATE.search(text):
        return Window(before=begin), _without_date(text)
    if _AFTER_DATE.search(text):
        return Window(after=begin if clock else end), _without_date(text)
    return Window(after=begin, before=end), _without_date(text)


def _zoned_as(moment: datetime, other: datetime) -> datetime:
    """A moment of a rule; one that names no zone is of the user's."""
    return moment if moment.tzinfo else moment.replace(tzinfo=other.tzinfo)


def _without_date(text: str) -> str:
    plain = re.sub(
        r"\d{4}年\d{1,2}月(?:\d{1,2}日)?|\d{1,2}時半?|\d{1,2}:\d\d|\b(?:gmt|utc)\b", " ", text
    )
    plain = re.sub(r"\b\d{1,2}(?:st|nd|rd|th)? [a-z]+ \d{4}|\b[a-z]+ \d{1,2},? \d{4}", " ", plain)
    return re.sub(r"\b(?:before|after|until|from)\b|より前に?|以降", " ", plain)


def _days(text: str) -> tuple[frozenset[int] | None, str]:
    days: set[int] = set()
    for span in _EN_SPAN.finditer(text):
        first, last = _EN_DAYS.index(span[1]), _EN_DAYS.index(span[2])
        days.update((first + step) % 7 for step in range((last - first) % 7 + 1))
    rest = _EN_SPAN.sub(" ", text)
    days.update(_EN_DAYS.index(day[1]) for day in _EN_DAY.finditer(rest))
    days.update(WEEKDAYS.index(day[1]) for day in _JA_DAY.finditer(rest))
    if _WEEKEND.search(rest):
        days.update((5, 6))
    if _WEEKDAY.search(rest):
        days.update(range(5))
    for pattern in (_EN_DAY, _JA_DAY, _WEEKEND, _WEEKDAY):
        rest = pattern.sub(" ", rest)
    return (frozenset(days) if days else None), rest


def _hours(text: str) -> tuple[tuple[int, int] | None, int | None, str]:
    for span in _RANGE.finditer(text):
        if _HOUR_MARK.search(span.group()) or _HOUR_MARK.search(text):
            rest = f"{text[: span.start()]} {text[span.end() :]}"
            return (_minute(span["a"]), _minute(span["b"])), None, rest
    for pattern, to_end in ((_AFTER, True), (_BEFORE, False)):
        match = pattern.search(text)
        if match is not None and _HOUR_MARK.search(match.group()):
            minute = _minute(match["a"] or match["b"])
            hours = (minute, 24 * 60) if to_end else (0, minute)
            return hours, None, pattern.sub(" ", text)
    match = _UNTIL.search(text)
    if match is not None and _HOUR_MARK.search(match.group()):
        return None, _minute(match["a"] or match["b"]), _UNTIL.sub(" ", text)
    return None, None, text


def _minute(clock: str) -> int:
    if "noon" in clock or "正午" in clock:
        return 12 * 60
    if "midnight" in clock:
        return 0
    numbers = [int(number) for number in re.findall(r"\d+", clock)]
    hour, minute = numbers[0], numbers[1] if len(numbers) > 1 else 30 if "半" in clock else 0
    if ("p" in clock or "午後" in clock) and hour < 12:
        hour += 12
    return hour * 60 + minute


def _within(minute: int, hours: tuple[int, int]) -> bool:
    begin, end = hours
    return begin <= minute < end if begin <= end else not end <= minute < begin
