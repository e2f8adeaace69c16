"""After a correction only what is true of it is said, and what it corrects is not given again."""

import pytest

from acc_ace.conversation import APP_NAME, Conversation
from config import Settings
from core.bootstrap import build_container
from core.models.embedded.corrections import takes_place_of
from schemas.memory_name import MemoryName
from schemas.tenancy import SessionKey

KEY = SessionKey(APP_NAME, "ops", "s1")


async def answers(memory: MemoryName, *texts: str) -> list[str]:
    conversation = Conversation(build_container(Settings(store="memory", memory=memory)))
    return [(await conversation.turn(KEY, text)).answer for text in texts]


@pytest.mark.parametrize(
    ("told", "correction", "asked", "unclear", "stands"),
    [
        (
            "The db-01 server is in Frankfurt.",
            "No, it is in Tokyo.",
            "Where is db-01?",
            "what I hold is as it was",
            "Frankfurt",
        ),
        (
            "The owner of checkout is Aiko.",
            "That's wrong.",
            "Who owns checkout?",
            "what I hold is as it was",
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
    told: str, correction: str, asked: str, unclear: str, stands: str
) -> None:
    _, corrected, answer = await answers("acc", told, correction, asked)
    assert unclear in corrected
    assert correction not in corrected
    assert stands in answer


@pytest.mark.parametrize("memory", ["acc", "replay"])
@pytest.mark.parametrize(
    ("told", "correction", "asked", "new", "old"),
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
    memory: MemoryName, told: str, correction: str, asked: str, new: str, old: str
) -> None:
    _, corrected, answer = await answers(memory, told, correction, asked)
    assert new in corrected
    assert new in answer
    assert old not in answer


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("No, db-01 is slow.", "db-01 is the primary."),
        ("No, db-01 is in maintenance.", "db-01 is in Frankfurt."),
        ("No, db-02 is in Tokyo.", "db-01 is in Frankfurt."),
        ("No, db-01 is from Acme.", "db-01 is in Frankfurt."),
        ("No, it is in Tokyo.", "db-01 is in Frankfurt."),
        ("いえ、db-02は東京にあります。", "db-01はフランクフルトにあります。"),
        ("いえ、db-01は遅いです。", "db-01は主系です。"),
    ],
)
def test_a_correction_of_one_thing_leaves_the_others_alone(newer: str, older: str) -> None:
    assert not takes_place_of(newer, older)


async def test_two_statements_that_correct_nothing_both_stand() -> None:
    *_, answer = await answers(
        "acc", "db-01 is in Frankfurt.", "db-01 is in Europe.", "Where is db-01?"
    )
    assert "Frankfurt" in answer
    assert "Europe" in answer
