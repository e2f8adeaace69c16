"""After a correction what was said last is quoted first, and nothing that was said is hidden."""

import pytest

from acc_ace import build_container
from acc_ace.conversation import APP_NAME, Conversation
from config import Settings
from schemas.base import SessionKey

KEY = SessionKey(APP_NAME, "ops", "s1")


async def answers(*texts: str) -> list[str]:
    conversation = Conversation(build_container(Settings(store="memory")))
    return [(await conversation.turn(KEY, text)).answer for text in texts]


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
async def test_a_correction_is_quoted_before_what_it_corrects(
    reported: str, correction: str, asked: str, new: str, old: str
) -> None:
    _, corrected, answer = await answers(reported, correction, asked)
    assert new in corrected
    assert new in answer.splitlines()[1]
    assert old not in "".join(answer.splitlines()[:2])


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


async def test_two_statements_that_correct_nothing_both_stand() -> None:
    *_, answer = await answers(
        "acc", "db-01 is in Frankfurt.", "db-01 is in Europe.", "Where is db-01?"
    )
    assert "Frankfurt" in answer
    assert "Europe" in answer
