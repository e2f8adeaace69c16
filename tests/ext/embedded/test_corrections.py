"""After a correction only what is true of it is said, and what it corrects is not given again."""

import pytest

from acc_ace import build_container
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.ext.embedded.extractive_qa import newest
from acc_ace.ext.embedded.superseded_facts import corrected
from acc_ace.ext.embedded.text_match import Fact
from config import Settings
from schemas.base import SessionKey
from schemas.commit import CommittedState
from tests.ext.embedded.requests import compress, state
from tests.fakes.tables import each_case

KEY = SessionKey(APP_NAME, "ops", "s1")


async def answers(*texts: str) -> list[str]:
    conversation = Conversation(build_container(Settings(store="memory")))
    return [(await conversation.turn(KEY, text)).answer for text in texts]


@pytest.mark.parametrize(
    ("reported", "correction", "asked", "unclear", "stands"),
    [
        (
            "The db-01 server is in Frankfurt.",
            "No, it is in Tokyo.",
            "Where is db-01?",
            "so nothing was changed",
            "Frankfurt",
        ),
        (
            "The owner of checkout is Aiko.",
            "That's wrong.",
            "Who owns checkout?",
            "so nothing was changed",
            "Aiko",
        ),
        (
            "db-01はフランクフルトにあります。",
            "いえ、東京にあります。",
            "db-01はどこにありますか？",
            "把握している内容は変わっていません",
            "フランクフルト",
        ),
    ],
)
async def test_a_correction_of_nothing_named_is_not_said_to_be_held(
    reported: str, correction: str, asked: str, unclear: str, stands: str
) -> None:
    _, corrected, answer = await answers(reported, correction, asked)
    assert unclear in corrected
    assert correction not in corrected
    assert stands in answer


@pytest.mark.parametrize(
    ("reported", "correction", "asked", "new", "old"),
    [
        (
            "The db-01 server is in Frankfurt.",
            "No, db-01 is in Tokyo.",
            "Where is db-01?",
            "db-01 is in Tokyo",
            "Frankfurt",
        ),
        (
            "The owner of checkout is Aiko.",
            "No, the owner of checkout is Ben.",
            "Who owns checkout?",
            "the owner of checkout is Ben",
            "Aiko",
        ),
        (
            "db-01はフランクフルトにあります。",
            "いえ、db-01は東京にあります。",
            "db-01はどこにありますか？",
            "db-01は東京にあります",
            "フランクフルト",
        ),
        (
            "checkoutの担当者は佐藤さんです。",
            "違います、checkoutの担当者は田中さんです。",
            "checkoutの担当者は誰ですか？",
            "checkoutの担当者は田中さんです",
            "佐藤",
        ),
    ],
)
async def test_what_a_correction_takes_the_place_of_is_not_given_as_current(
    reported: str, correction: str, asked: str, new: str, old: str
) -> None:
    _, corrected, answer = await answers(reported, correction, asked)
    assert new in corrected
    assert new in answer
    assert old not in answer


@each_case
def test_a_correction_of_one_thing_leaves_the_others_alone(newer: str, older: str) -> None:
    assert corrected([newer], [older]) == [older]


@each_case
def test_a_correction_takes_the_place_of_another_value_of_just_the_same(
    newer: str, older: str
) -> None:
    assert corrected([newer], [older]) == []


def test_a_correction_that_may_mean_one_of_two_takes_the_place_of_neither() -> None:
    held = ["The standup is on Monday.", "The standup is on Thursday."]
    assert corrected(["No, the standup is on Friday."], held) == held
    assert corrected(["No, the standup is on Friday."], held[:1]) == []


@pytest.mark.parametrize(
    ("reported", "correction", "asked", "stands"),
    [
        (
            "The API runs on web-3 in the Osaka rack. The API runs on port 8080.",
            "Correction: the API runs on port 8081.",
            "Which host does the API run on?",
            "web-3",
        ),
        (
            "鈴木さんは大阪オフィスにいます。鈴木さんは経理部にいます。",
            "訂正：鈴木さんは東京オフィスにいます。",
            "鈴木さんの部署はどこですか？",
            "経理部",
        ),
        (
            "db-01の担当は鈴木さんです。web-1の担当は佐藤さんです。",
            "訂正：担当は田中さんです。",
            "web-1の担当は誰ですか？",
            "佐藤さん",
        ),
    ],
)
async def test_what_a_correction_does_not_speak_of_is_still_answered(
    reported: str, correction: str, asked: str, stands: str
) -> None:
    *_, answer = await answers(reported, correction, asked)
    assert stands in answer


@pytest.mark.parametrize(
    ("reported", "correction", "asked", "new"),
    [
        (
            "The cache is in the Frankfurt rack.",
            "No, the cache is in Tokyo.",
            "Where is the cache?",
            "the cache is in Tokyo.",
        ),
        (
            "db-01はフランクフルトの第二データセンターにあります。",
            "訂正：db-01は東京にあります。",
            "db-01はどこにありますか？",
            "db-01は東京にあります。",
        ),
    ],
)
async def test_a_correction_that_is_said_to_be_noted_is_answered_first(
    reported: str, correction: str, asked: str, new: str
) -> None:
    _, noted, answer = await answers(reported, correction, asked)
    assert new in noted
    assert answer.startswith(new)


async def test_a_correction_is_not_pushed_out_by_what_it_corrects() -> None:
    current = (await compress("The cache is in the Frankfurt rack.")).semantic_gist
    current = (await compress("No, the cache is in Tokyo.", _knowing(current))).semantic_gist
    for number in range(1, 9):
        reported = f"The nightly job of web-{number} wrote a report of its own to the shared disk."
        current = (await compress(reported, _knowing(current))).semantic_gist
        assert "Frankfurt" not in current or "Tokyo" in current


def test_what_one_session_says_corrects_no_other_and_nothing_that_was_said_later() -> None:
    reported = [
        Fact("db-01 is in Osaka.", "turn:s1:3", turn=3),
        Fact("No, db-01 is in Tokyo.", "turn:s1:2", turn=2),
        Fact("db-01 is in Berlin.", "turn:s1:1", turn=1),
        Fact("db-01 is in Frankfurt.", "turn:s2:1", turn=1),
        Fact("db-01 is in Kyoto.", turn=1),
    ]
    assert [fact.text for fact in newest(reported)] == [
        "db-01 is in Osaka.",
        "No, db-01 is in Tokyo.",
        "db-01 is in Frankfurt.",
        "db-01 is in Kyoto.",
    ]


def _knowing(gist: str) -> CommittedState:
    return state(semantic_gist=gist)


async def test_two_statements_that_correct_nothing_both_stand() -> None:
    *_, answer = await answers(
        "acc", "db-01 is in Frankfurt.", "db-01 is in Europe.", "Where is db-01?"
    )
    assert "Frankfurt" in answer
    assert "Europe" in answer
