"""The periods that a text names, said on Wednesday, 12 June 2024."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from acc_ace.core.text.dates.periods import MAX_CHARS, MAX_PERIODS, named_periods
from tests.fakes.tables import each_case

NOW = datetime(2024, 6, 12, 15, 30, tzinfo=UTC)


def spans(text: str, now: datetime = NOW) -> list[str]:
    """Each period as its first day, or as 'first..last', both included."""
    reported = []
    for start, end in named_periods(text, now):
        first, last = f"{start:%Y-%m-%d}", f"{end - timedelta(days=1):%Y-%m-%d}"
        reported.append(first if first == last else f"{first}..{last}")
    return reported


@each_case
def test_an_english_date_is_its_days(text: str, expected: str) -> None:
    assert spans(text) == [expected]


@each_case
def test_an_english_distance_is_counted_from_the_day_it_was_said(text: str, expected: str) -> None:
    assert spans(text) == [expected]


@each_case
def test_two_english_dates_that_are_joined_are_one_period(text: str, expected: str) -> None:
    assert spans(text) == [expected]


@each_case
def test_since_reaches_up_to_the_end_of_today(text: str, first: str) -> None:
    assert spans(text) == [f"{first}..2024-06-12"]


@each_case
def test_english_that_only_looks_like_a_time_names_none(text: str) -> None:
    assert spans(text) == []


@each_case
def test_the_future_names_no_period(text: str) -> None:
    assert spans(text) == []


@each_case
def test_a_date_that_no_calendar_holds_names_no_period(text: str) -> None:
    assert spans(text) == []


@each_case
def test_a_japanese_date_is_its_days(text: str, expected: str) -> None:
    assert spans(text) == [expected]


@each_case
def test_a_japanese_distance_is_counted_from_the_day_it_was_said(text: str, expected: str) -> None:
    assert spans(text) == [expected]


@each_case
def test_two_japanese_dates_that_are_joined_are_one_period(text: str, expected: str) -> None:
    assert spans(text) == [expected]


@each_case
def test_japanese_that_only_looks_like_a_time_names_none(text: str) -> None:
    assert spans(text) == []


def test_periods_come_in_the_order_of_the_text_and_once_each() -> None:
    text = "Yesterday, in May and June, 先月 and 昨日; in 2022 and 2023."
    assert spans(text) == [
        "2024-06-11",
        "2024-05-01..2024-05-31",
        "2024-06-01..2024-06-30",
        "2022-01-01..2022-12-31",
    ]


def test_the_items_of_a_list_are_no_stretch() -> None:
    assert spans("Meetings:\n- 3 May\n- 7 May\n") == ["2024-05-03", "2024-05-07"]


def test_hidden_characters_and_line_breaks_do_not_hide_a_date() -> None:
    assert spans("on 7\u200b May\n2023") == ["2023-05-07"]


def test_a_day_begins_at_midnight_where_it_was_said() -> None:
    tokyo = ZoneInfo("Asia/Tokyo")
    # 20:00 UTC on the 11th is already the 12th in Tokyo.
    now = datetime(2024, 6, 11, 20, tzinfo=UTC).astimezone(tokyo)
    assert named_periods("昨日", now) == (
        (datetime(2024, 6, 11, tzinfo=tokyo), datetime(2024, 6, 12, tzinfo=tokyo)),
    )


@pytest.mark.parametrize(("day", "hours"), [("31 March 2024", 23), ("27 October 2024", 25)])
def test_a_day_on_which_clocks_change_is_a_whole_day(day: str, hours: int) -> None:
    now = datetime(2024, 12, 1, tzinfo=ZoneInfo("Europe/Berlin"))
    (period,) = named_periods(day, now)
    assert period.end.timestamp() - period.start.timestamp() == hours * 3600


@pytest.mark.parametrize(
    ("today", "expected"),
    [
        (datetime(2024, 6, 8, tzinfo=UTC), "2024-06-01..2024-06-02"),
        (datetime(2024, 6, 9, tzinfo=UTC), "2024-06-01..2024-06-02"),
        (datetime(2024, 6, 10, tzinfo=UTC), "2024-06-08..2024-06-09"),
    ],
)
def test_the_last_weekend_is_over(today: datetime, expected: str) -> None:
    assert spans("last weekend", today) == [expected]


def test_last_month_in_january_is_december() -> None:
    january = datetime(2024, 1, 31, tzinfo=UTC)
    assert spans("last month", january) == ["2023-12-01..2023-12-31"]
    assert spans("2か月前", january) == ["2023-11-01..2023-11-30"]


def test_a_leap_day_of_no_year_is_the_newest_one() -> None:
    assert spans("29 February", datetime(1903, 1, 1, tzinfo=UTC)) == ["1896-02-29"]


def test_at_most_a_few_periods_are_taken() -> None:
    text = " and ".join(f"on {day} May" for day in range(1, 20))
    assert spans(text) == [f"2024-05-0{day}" for day in range(1, MAX_PERIODS + 1)]


def test_what_stands_after_the_first_characters_is_not_looked_at() -> None:
    assert spans("x" * (MAX_CHARS - 12) + " yesterday") == ["2024-06-11"]
    assert spans("x" * MAX_CHARS + " yesterday") == []


@each_case
def test_a_hostile_text_is_read_to_its_end(piece: str) -> None:
    text = (piece * MAX_CHARS)[: MAX_CHARS - 11] + ". yesterday"
    found = spans(text)
    assert len(found) <= MAX_PERIODS
    # NFKC makes one such ligature many letters, so that the end is cut off.
    assert "2024-06-11" in found or piece == "ﷺ"
