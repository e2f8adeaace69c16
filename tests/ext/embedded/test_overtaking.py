"""A newer fact overtakes an older one only where both speak of one thing."""

import pytest

from acc_ace import build_container
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.ext.embedded.superseded_facts import latest_facts
from config import Settings
from schemas.base import SessionKey
from tests.fakes.tables import each_case

KEY = SessionKey(APP_NAME, "ops", "s1")


@pytest.mark.parametrize(
    "reported",
    [
        ["web-1 is patched on Tuesday.", "db-01 is patched on Monday."],
        ["web-1 starts at 10:00.", "db-01 starts at 9:00."],
        ["web-1 costs $30.", "db-01 costs $50."],
        ["web-2 needs a bigger disk soon.", "web-1 needs a bigger disk soon."],
        ["The Osaka site costs $300.", "The Berlin site costs $200."],
        ["The printer is patched on March 3.", "db-01 is patched on March 2."],
        ["The CPU limit of db-01 is 90%.", "The memory limit of db-01 is 40%."],
        ["The daily taxi limit is $50.", "The daily meals limit is $30."],
        ["Room 5 is closed for cleaning.", "Room 4 is closed for cleaning."],
        ["The gym is open on Thursdays.", "The gym is open on Mondays."],
        ["The gym is open every Thursday.", "The gym is open every Monday."],
        ["The bus leaves at 11:00.", "The bus leaves at 10:00."],
        ["The budget is $300.", "The travel budget is $200."],
        ["db-02の会議は11時です。", "db-01の会議は10時です。"],
        ["ジムは木曜日に開いています。", "ジムは月曜日に開いています。"],
        ["予算は300万円です。", "大阪の予算は200万円です。"],
        [
            "The block closes on March 15.",
            "The hotel block closes on March 14.",
            "The flight block closes on March 10.",
        ],
    ],
)
def test_facts_of_two_things_or_that_both_hold_stand_side_by_side(reported: list[str]) -> None:
    assert latest_facts(reported) == reported


@each_case
def test_a_new_value_of_one_thing_overtakes_the_old(newer: str, older: str) -> None:
    assert latest_facts([newer, older]) == [newer]


@pytest.mark.parametrize(
    ("reported", "asked", "answered"),
    [
        (
            [
                "web-1 is patched on Tuesdays. db-01 is patched on Mondays. "
                "cache-3 is patched on Thursdays."
            ],
            "When is db-01 patched?",
            ["Mondays"],
        ),
        (
            ["The gym is open on Mondays.", "The gym is open on Thursdays."],
            "When is the gym open?",
            ["Thursdays", "Mondays"],
        ),
    ],
)
async def test_a_day_of_one_thing_is_not_forgotten_for_another(
    reported: list[str], asked: str, answered: list[str]
) -> None:
    conversation = Conversation(build_container(Settings(store="memory")))
    for text in reported:
        await conversation.turn(KEY, text)
    answer = (await conversation.turn(KEY, asked)).answer
    assert [day for day in ("Tuesdays", "Thursdays", "Mondays") if day in answer] == answered
