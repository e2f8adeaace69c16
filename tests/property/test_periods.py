"""Invariants of the periods that a text names, for any text and any day."""

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from acc_ace.core.text.dates.periods import MAX_PERIODS, named_periods

_EN = (
    "between ", "from ", " to ", " and ", "since ", "last ", "this ", "on ", "in ", "the ",
    "Monday", "May", "may", "29 February", "31 ", "2023", "9999", "0001", "2023-05-07", "-", "/",
    "9999 years ago", "12 months ago", "last week", "yesterday", "last weekend", "tonight",
)  # fmt: skip
_JA = (
    "先週", "の", "金曜", "先々月", "31日", "5月", "7日", "2023年", "令和99年", "平成元年", "から",
    "まで", "〜", "9999年前", "十", "三日前", "一昨日", "以降", "と", "の間", "2月29日", "5/7",
)  # fmt: skip
_PIECES = st.one_of(st.sampled_from((*_EN, *_JA)), st.text(max_size=4))
_TEXTS = st.one_of(st.text(), st.lists(_PIECES, max_size=12).map("".join))
_ZONES = st.sampled_from(
    (
        UTC,
        ZoneInfo("Asia/Tokyo"),
        ZoneInfo("America/Sao_Paulo"),
        timezone(timedelta(hours=14)),
        timezone(timedelta(hours=-12)),
    )
)
_NOWS = st.one_of(
    st.datetimes(timezones=_ZONES),
    st.datetimes(max_value=datetime(3, 1, 1), timezones=_ZONES),
    st.datetimes(min_value=datetime(9998, 1, 1), timezones=_ZONES),
    st.datetimes(datetime(2019, 1, 1), datetime(2025, 1, 1), timezones=_ZONES),
)


@given(_TEXTS, _NOWS)
def test_periods_are_few_whole_days_that_have_begun(text: str, now: datetime) -> None:
    periods = named_periods(text, now)
    assert len(periods) <= MAX_PERIODS
    assert len(set(periods)) == len(periods)
    for period in periods:
        assert period.start.date() < period.end.date()
        assert period.start.date() <= now.date()
        for side in period:
            assert side.tzinfo is now.tzinfo
            assert (side.hour, side.minute, side.second, side.microsecond) == (0, 0, 0, 0)


@given(_TEXTS, _NOWS)
def test_a_period_can_be_told_in_any_zone(text: str, now: datetime) -> None:
    for side in (side for period in named_periods(text, now) for side in period):
        for hours in (-23, 23):
            there = side.astimezone(timezone(timedelta(hours=hours)))
            assert there.timestamp() == side.timestamp()


@given(_TEXTS, _NOWS)
def test_the_hour_of_the_day_changes_nothing(text: str, now: datetime) -> None:
    assert named_periods(text, now) == named_periods(text, now.replace(hour=0, minute=0))


@given(st.dates(date(2000, 1, 1), date(2024, 6, 11)))
def test_a_day_is_the_same_in_every_way_to_write_it(day: date) -> None:
    now = datetime(2024, 6, 12, 15, tzinfo=UTC)
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    for text in (
        f"{day:%Y-%m-%d}",
        f"{day:%Y/%m/%d}",
        f"What was on {day:%B} {day.day}, {day.year}?",
        f"what was on the {day.day} of {day:%b} {day.year}?",
        f"on {day:%A}, {day.day} {day:%B} {day.year}",
        f"{day.year}年{day.month}月{day.day}日のこと",
        f"{(now.date() - day).days}日前",
        f"{(now.date() - day).days} days ago",
    ):
        assert named_periods(text, now) == ((start, start + timedelta(days=1)),)
