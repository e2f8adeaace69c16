"""The periods that a text names, said on Wednesday, 12 June 2024."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from acc_ace.text.dates.periods import MAX_CHARS, MAX_PERIODS, named_periods

NOW = datetime(2024, 6, 12, 15, 30, tzinfo=UTC)


def spans(text: str, now: datetime = NOW) -> list[str]:
    """Each period as its first day, or as 'first..last', both included."""
    reported = []
    for start, end in named_periods(text, now):
        first, last = f"{start:%Y-%m-%d}", f"{end - timedelta(days=1):%Y-%m-%d}"
        reported.append(first if first == last else f"{first}..{last}")
    return reported


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did we decide on 7 May 2023?", "2023-05-07"),
        ("What did we decide on May 7, 2023?", "2023-05-07"),
        ("the 7th of May, 2023", "2023-05-07"),
        ("Sunday, May 7th 2023", "2023-05-07"),
        ("on Sunday the 7th of May 2023", "2023-05-07"),
        ("7 May last year", "2023-05-07"),
        ("May 7th", "2024-05-07"),
        ("the 7th of May", "2024-05-07"),
        ("on Jan. 5", "2024-01-05"),
        ("5 Sept", "2023-09-05"),
        ("the 7th of may", "2024-05-07"),
        ("on may 7", "2024-05-07"),
        ("May 7's meeting", "2024-05-07"),
        ("What about July 1?", "2023-07-01"),
        ("on 12 June", "2024-06-12"),
        ("29 February", "2024-02-29"),
        ("May 2023", "2023-05-01..2023-05-31"),
        ("february 2023", "2023-02-01..2023-02-28"),
        ("in May", "2024-05-01..2024-05-31"),
        ("in may?", "2024-05-01..2024-05-31"),
        ("since we met in early May", "2024-05-01..2024-05-31"),
        ("in July", "2023-07-01..2023-07-31"),
        ("in Jan", "2024-01-01..2024-01-31"),
        ("this May", "2024-05-01..2024-05-31"),
        ("last June", "2023-06-01..2023-06-30"),
        ("last Dec", "2023-12-01..2023-12-31"),
        ("May of last year", "2023-05-01..2023-05-31"),
        ("last week of May", "2024-05-01..2024-05-31"),
        ("in 2023", "2023-01-01..2023-12-31"),
        ("In 2023 Caroline moved", "2023-01-01..2023-12-31"),
        ("2023's plan", "2023-01-01..2023-12-31"),
        ("during 2023", "2023-01-01..2023-12-31"),
        ("the summer of 2023", "2023-01-01..2023-12-31"),
        ("in late 2023.", "2023-01-01..2023-12-31"),
        ("2023-05-07", "2023-05-07"),
        ("at 2023-05-07T10:00:00Z", "2023-05-07"),
        ("2023/05/07", "2023-05-07"),
        ("in 2023-05", "2023-05-01..2023-05-31"),
    ],
)
def test_an_english_date_is_its_days(text: str, expected: str) -> None:
    assert spans(text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did I say today?", "2024-06-12"),
        ("yesterday's call", "2024-06-11"),
        ("The day before yesterday", "2024-06-10"),
        ("this morning", "2024-06-12"),
        ("tonight", "2024-06-12"),
        ("last night", "2024-06-11"),
        ("3 days ago", "2024-06-09"),
        ("a day ago", "2024-06-11"),
        ("twelve days ago", "2024-05-31"),
        ("a week ago", "2024-06-03..2024-06-09"),
        ("2 weeks ago", "2024-05-27..2024-06-02"),
        ("a couple of weeks ago", "2024-05-27..2024-06-02"),
        ("six months ago", "2023-12-01..2023-12-31"),
        ("a year ago", "2023-01-01..2023-12-31"),
        ("this week", "2024-06-10..2024-06-16"),
        ("last week", "2024-06-03..2024-06-09"),
        ("the week before last", "2024-05-27..2024-06-02"),
        ("this month", "2024-06-01..2024-06-30"),
        ("last month", "2024-05-01..2024-05-31"),
        ("this year", "2024-01-01..2024-12-31"),
        ("last year", "2023-01-01..2023-12-31"),
        ("on Monday", "2024-06-10"),
        ("on Wednesday", "2024-06-12"),
        ("on friday", "2024-06-07"),
        ("last Wednesday", "2024-06-05"),
        ("last Friday", "2024-06-07"),
        ("My car broke down last Fri on my way", "2024-06-07"),
        ("this Tuesday", "2024-06-11"),
        ("Monday last week", "2024-06-03"),
        ("last week on Friday", "2024-06-07"),
        ("last weekend", "2024-06-08..2024-06-09"),
        ("over the weekend", "2024-06-08..2024-06-09"),
    ],
)
def test_an_english_distance_is_counted_from_the_day_it_was_said(text: str, expected: str) -> None:
    assert spans(text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("between May 3 and May 7", "2024-05-03..2024-05-07"),
        ("from 3 May to 7 May", "2024-05-03..2024-05-07"),
        ("from the 3rd of May until the 7th of May", "2024-05-03..2024-05-07"),
        ("May 3-7", "2024-05-03..2024-05-07"),
        ("May 3 – 7, 2023", "2023-05-03..2023-05-07"),
        ("3 to 7 May 2023", "2023-05-03..2023-05-07"),
        ("between the 3rd and 7th of May", "2024-05-03..2024-05-07"),
        ("from May 3 to May 7, 2023", "2023-05-03..2023-05-07"),
        ("from Dec 28 to Jan 3", "2023-12-28..2024-01-03"),
        ("from 28 December to 3 January 2023", "2022-12-28..2023-01-03"),
        ("between November 2022 and May", "2022-11-01..2023-05-31"),
        ("between May and July 2023", "2023-05-01..2023-07-31"),
        ("between 2019 and 2021", "2019-01-01..2021-12-31"),
        ("from 2019 to 2021", "2019-01-01..2021-12-31"),
        ("in 2019-2021", "2019-01-01..2021-12-31"),
        ("2023-05-03 to 2023-05-07", "2023-05-03..2023-05-07"),
        ("from Monday to Wednesday", "2024-06-10..2024-06-12"),
        ("between last Monday and today", "2024-06-10..2024-06-12"),
    ],
)
def test_two_english_dates_that_are_joined_are_one_period(text: str, expected: str) -> None:
    assert spans(text) == [expected]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("since 2023", "2023-01-01"),
        ("since 3 May", "2024-05-03"),
        ("since last Monday", "2024-06-10"),
        ("since yesterday", "2024-06-11"),
        ("2023年5月以降", "2023-05-01"),
        ("先週以来", "2024-06-03"),
    ],
)
def test_since_reaches_up_to_the_end_of_today(text: str, first: str) -> None:
    assert spans(text) == [f"{first}..2024-06-12"]


@pytest.mark.parametrize(
    "text",
    [
        "you may restart db-01",
        "May I restart it? You may.",
        "it may last year after year",
        "all 7 may restart",
        "the 7th may restart",
        "you may 7",
        "the last may fail",
        "Room 5 May be used",
        "the place it is in may fail",
        "march on",
        "we march 5 miles",
        "March 5 miles a day",
        "5 May bugs",
        "May 3 users log in?",
        "dec 5 and oct 17",
        "for 3 days",
        "within 2 weeks",
        "more than 3 days ago",
        "2-3 weeks ago",
        "1.5 years ago",
        "1,000 days ago",
        "3 days before the deadline",
        "2023 requests",
        "port 2023",
        "error 2023",
        "in 2023 requests",
        "in 2000 open tickets",
        "a limit of 2000.",
        "2019-2021",
        "between 2019 and 2021 requests",
        "version 2023.5",
        "2023.05.07.1",
        "v5/7",
        "5/7",
        "10.0.0.7",
        "192.168.2023.5",
        "ticket 2023-05",
        "CVE-2023-05-07",
        "build-2023-05-07",
        "https://example.com/2023/05/07/post",
        "tel 2023-05-0712",
        "at 12:30",
        "May 7:30",
        "every Monday",
        "on Mondays",
        "where I last sat",
        "every May",
        "works from Monday to Friday",
        "May and June joined the team",
        "the last week",
        "the last week of the project",
        "it may last week after week",
        "Mayor 5, Marching 3, Sunday's best",
    ],
)
def test_english_that_only_looks_like_a_time_names_none(text: str) -> None:
    assert spans(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "tomorrow",
        "next week",
        "next Monday",
        "Monday next week",
        "next May",
        "this Friday",
        "this weekend",
        "this July",
        "on 13 June 2024",
        "in 2025",
        "2030-01-01",
        "明日",
        "来週の金曜",
        "再来週",
        "来月の7日",
        "来年5月",
        "次の金曜日",
        "今週末",
        "今年の12月",
        "2025年",
        "2024年6月13日",
    ],
)
def test_the_future_names_no_period(text: str) -> None:
    assert spans(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "31 February",
        "February 30, 2023",
        "29 February 2023",
        "May 32",
        "0 May",
        "2023-13-01",
        "in 2023-00",
        "2023/02/29",
        "2月31日",
        "13月",
        "0月",
        "2023年2月29日",
        "13/40に",
        "令和0年",
    ],
)
def test_a_date_that_no_calendar_holds_names_no_period(text: str) -> None:
    assert spans(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2023年5月7日に何を決めた?", "2023-05-07"),
        ("2023年 5月 7日", "2023-05-07"),
        ("２０２３年５月７日", "2023-05-07"),
        ("2023年5月の会議", "2023-05-01..2023-05-31"),
        ("2023年の計画", "2023-01-01..2023-12-31"),
        ("令和5年5月7日", "2023-05-07"),
        ("令和5年の予算", "2023-01-01..2023-12-31"),
        ("令和元年", "2019-01-01..2019-12-31"),
        ("㍻30年12月", "2018-12-01..2018-12-31"),
        ("5月7日の会議", "2024-05-07"),
        ("5月7日(火)の会議", "2024-05-07"),
        ("五月七日の会議", "2024-05-07"),
        ("5月に何をした?", "2024-05-01..2024-05-31"),
        ("12月の話", "2023-12-01..2023-12-31"),
        ("去年の5月", "2023-05-01..2023-05-31"),
        ("昨年12月24日", "2023-12-24"),
        ("2年前の5月", "2022-05-01..2022-05-31"),
        ("2023/5/7の件", "2023-05-07"),
        ("5/7に話した件", "2024-05-07"),
        ("会議(5/7)の件", "2024-05-07"),
    ],
)
def test_a_japanese_date_is_its_days(text: str, expected: str) -> None:
    assert spans(text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("今日の議題", "2024-06-12"),
        ("今日本番で起きた障害", "2024-06-12"),
        ("本日の件", "2024-06-12"),
        ("昨日の件", "2024-06-11"),
        ("私はきのう何を決めた?", "2024-06-11"),
        ("一昨日", "2024-06-10"),
        ("おととい", "2024-06-10"),
        ("今朝の話", "2024-06-12"),
        ("昨夜の障害", "2024-06-11"),
        ("昨晩", "2024-06-11"),
        ("今週", "2024-06-10..2024-06-16"),
        ("先週", "2024-06-03..2024-06-09"),
        ("先々週", "2024-05-27..2024-06-02"),
        ("先週末", "2024-06-08..2024-06-09"),
        ("今月", "2024-06-01..2024-06-30"),
        ("先月", "2024-05-01..2024-05-31"),
        ("先々月", "2024-04-01..2024-04-30"),
        ("先月の7日", "2024-05-07"),
        ("今年", "2024-01-01..2024-12-31"),
        ("去年", "2023-01-01..2023-12-31"),
        ("昨年", "2023-01-01..2023-12-31"),
        ("一昨年", "2022-01-01..2022-12-31"),
        ("先週の金曜に何を決めた?", "2024-06-07"),
        ("先々週金曜日", "2024-05-31"),
        ("金曜日に決めたこと", "2024-06-07"),
        ("水曜に", "2024-06-12"),
        ("この前の水曜", "2024-06-05"),
        ("3日前", "2024-06-09"),
        ("３日前に", "2024-06-09"),
        ("三日前", "2024-06-09"),
        ("約十日前", "2024-06-02"),
        ("二十日前", "2024-05-23"),
        ("2週間前", "2024-05-27..2024-06-02"),
        ("一週間ほど前", "2024-06-03..2024-06-09"),
        ("3ヶ月前", "2024-03-01..2024-03-31"),
        ("6か月前", "2023-12-01..2023-12-31"),
        ("二年前", "2022-01-01..2022-12-31"),
    ],
)
def test_a_japanese_distance_is_counted_from_the_day_it_was_said(text: str, expected: str) -> None:
    assert spans(text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5月3日から5月7日まで", "2024-05-03..2024-05-07"),
        ("5月3日から7日まで", "2024-05-03..2024-05-07"),
        ("5月3日〜7日", "2024-05-03..2024-05-07"),
        ("5月3日～5月7日", "2024-05-03..2024-05-07"),
        ("2023年5月3日〜7日の出張", "2023-05-03..2023-05-07"),
        ("2023年5月3日から6月7日まで", "2023-05-03..2023-06-07"),
        ("5月3日(金)から5月7日(火)まで", "2024-05-03..2024-05-07"),
        ("12月28日から1月3日まで", "2023-12-28..2024-01-03"),
        ("3〜5月の売上", "2024-03-01..2024-05-31"),
        ("2021年から2022年まで", "2021-01-01..2022-12-31"),
        ("先週から今日まで", "2024-06-03..2024-06-12"),
        ("月曜から水曜まで", "2024-06-10..2024-06-12"),
        ("3月下旬から5月上旬ごろ", "2024-03-01..2024-05-31"),
        ("5月3日と5月7日の間", "2024-05-03..2024-05-07"),
    ],
)
def test_two_japanese_dates_that_are_joined_are_one_period(text: str, expected: str) -> None:
    assert spans(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "5ヶ月かかる",
        "5か月と3カ月",
        "5箇月",
        "5月間",
        "1月あたり3件",
        "5月号の記事",
        "3日間",
        "3日以内に",
        "7日",
        "3日前後",
        "三日前払い",
        "会議の3日前",
        "開始2年前",
        "百二十年前",
        "2年前半",
        "1年前倒し",
        "2023件の要求",
        "ポート2023に接続",
        "バージョン2023.5",
        "2023年度の予算",
        "2023年間",
        "1990年代",
        "赤旗日曜版",
        "第5月",
        "1/2に減らす",
        "5/7件が完了",
        "v5/7を使う",
        "比率5/7",
        "10.0.0.7に接続",
        "12:30に開始",
        "毎週金曜日",
        "毎月7日",
        "毎年5月",
        "何年5月",
        "第2金曜",
        "月・水曜",
        "金曜日までに直す",
        "日曜大工",
        "昨今日本は",
        "日本日経平均",
        "そのときのうわさ",
        "五月",
        "三月兎",
        "年月日と曜日",
    ],
)
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


@pytest.mark.parametrize(
    "piece",
    ["1", "a", " ", "\n", "\n ", "- ", "May ", "may 1-", "between 1 and ", "the ", "月", "十",
     "5月から", "2023-", "1/", "last ", "(", "\u0301", "ﷺ", "on Monday, the "],
)  # fmt: skip
def test_a_hostile_text_is_read_to_its_end(piece: str) -> None:
    text = (piece * MAX_CHARS)[: MAX_CHARS - 11] + ". yesterday"
    found = spans(text)
    assert len(found) <= MAX_PERIODS
    # NFKC makes one such ligature many letters, so that the end is cut off.
    assert "2024-06-11" in found or piece == "ﷺ"
