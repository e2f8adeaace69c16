"""Claims about typed entities."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.rules_model.entities import find_entities
from acc_ace.rules_model.text_match import unique


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("db-01 is down", "server:db-01"),
        ("ssh to web-3.prod.example.com", "server:web-3.prod.example.com"),
        ("ticket INC-123 is open", "ticket:INC-123"),
        ("many 503 errors", "error:503"),
        ("it raised a TimeoutError", "error:TimeoutError"),
        ("see https://wiki.example.com/x?y=1", "url:https://wiki.example.com/x?y=1"),
        ("mail ops@example.com", "email:ops@example.com"),
        ("look into /var/log/app.log", "file:/var/log/app.log"),
        ("read runbook.md first", "file:runbook.md"),
        ("release v4.12 is live", "version:v4.12"),
        ("the budget is $500", "money:$500"),
        ("it began at 09:12", "time:09:12"),
        ("Never reboot db-01 on Mondays.", "time:Mondays"),
        ("we close on Sundays", "time:Sundays"),
        ("the promotion takes six minutes", "duration:six minutes"),
        ("Bob says it is fine", "person:Bob"),
        ("please ask Aiko about it", "person:Aiko"),
        ("the payment gateway is slow", "service:payment gateway"),
        ("佐藤さんが担当です", "person:佐藤さん"),
        ("鈴木様からの連絡", "person:鈴木様"),
        ("営業部に確認する", "team:営業部"),
        ("決済サービスが遅い", "service:決済サービス"),
        ("ap-01 サーバーが停止", "server:ap-01"),
        ("費用は3万円です", "money:3万円"),
        ("10時15分に停止した", "time:10時15分"),
        ("作業は15分かかる", "duration:15分"),
        ("使用率は94%です", "percent:94%"),
    ],
)
def test_a_named_thing_is_found_with_its_type(text: str, expected: str) -> None:
    assert expected in [str(entity) for entity in find_entities(text)]


@pytest.mark.parametrize(
    "text",
    [
        "UTF-8 and SHA-256 are formats",
        "The weather is nice",
        "Monday will be busy",
        "we go there on foot",
        "[c-0001] is a constraint",
        "a part of the whole (部分)",
        "What time is it in Asia/Tokyo?",
        "Our office in Nagoya is closed",
        "Deploy on Mondays, Tuesdays, Wednesdays, Thursdays and Fridays",
        "we close on Saturdays and Sundays",
        "every Mon and Tue, never on Wed, Thu or Fri, on Sat, on Sun.",
        "closed on Weekends, Holidays, Christmas and Easter",
    ],
)
def test_ordinary_words_are_no_servers_people_or_teams(text: str) -> None:
    kinds = {entity.kind for entity in find_entities(text)}
    assert not kinds & {"server", "person", "team", "ticket"}


@pytest.mark.parametrize(
    ("text", "name"),
    [("please ask Sunita about it", "Sunita"), ("it was Monique who called", "Monique")],
)
def test_a_name_that_begins_like_a_day_is_still_a_name(text: str, name: str) -> None:
    assert f"person:{name}" in [str(entity) for entity in find_entities(text)]


def test_a_name_inside_a_url_is_not_found_twice() -> None:
    found = [str(item) for item in find_entities("https://db-01.example.com/INC-12 is slow")]
    assert found == ["url:https://db-01.example.com/INC-12"]


def test_the_first_mention_of_each_is_kept() -> None:
    assert unique(["server:DB-01", "server:db-01", "person:Bob"]) == ["server:DB-01", "person:Bob"]


@given(st.text(max_size=2_000))
def test_any_text_gives_bounded_entities_that_it_contains(text: str) -> None:
    found = find_entities(text)
    assert len(found) <= 64
    assert all(entity.name in text for entity in found)
