"""Calls that a turn saves: an acknowledgement costs one, an ordinary turn two."""

import pytest

from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.report import TurnReport
from tests.pipeline.talk import Talk, seen, settings

DISK = "The disk of db-01 was full at 09:14."


def talk(*answers: str) -> Talk:
    """A conversation in which each message gets the next of the answers; it learns on evidence."""
    made = Talk(settings().model_copy(update={"learn_on": "evidence"}))
    made.llm.on("generator", *({"reasoning": [], "final_answer": each} for each in answers))
    return made


def calls(report: TurnReport) -> dict[str, int]:
    """Model calls by stage."""
    return dict.fromkeys(report.tokens, 1)


@pytest.mark.parametrize("said", ["ok thanks", "Thank you!", "OK.", "了解です", "ありがとう。"])
async def test_an_acknowledgement_costs_one_call_and_carries_the_state_on(said: str) -> None:
    desk = talk(DISK, "You're welcome.")
    before = await desk.say("Why did the checkout fail? Never restart db-01.")
    after = await desk.say(said)
    assert calls(after) == {"generator": 1}
    assert after.saved["compressor"] == "acknowledgement"
    assert after.ccs.without_tail == before.ccs
    assert DISK in after.ccs.episodic_trace
    assert (after.turn, after.ccs_version) == (2, before.ccs_version + 1)


async def test_what_was_answered_before_acknowledgements_is_shown_to_the_next_compressor() -> None:
    desk = talk(DISK, "You're welcome.", "Glad to hear.", "Noted.")
    for said in ("Why did the checkout fail?", "thanks", "great", "Write the report."):
        await desk.say(said)
    [_, last] = desk.llm.requests_of("compressor")
    assert DISK in seen(last)


@pytest.mark.parametrize(
    "answer",
    [
        "Shall I clean the disk?",
        "I can clean the disk.",
        "ディスクを掃除しましょうか。",
        "よろしければ掃除します。",
    ],
)
async def test_a_short_reply_to_a_question_or_an_offer_is_compressed(answer: str) -> None:
    desk = talk(answer, "Done.")
    await desk.say("The disk of db-01 is full.")
    assert calls(await desk.say("ok"))["compressor"] == 1


async def test_an_acknowledgement_is_compressed_while_a_question_is_open() -> None:
    desk = talk(DISK, "Noted.", "Noted.")
    await desk.say("Never restart db-01.")
    asked = await desk.say("You may restart db-01 from now on.")
    assert len(asked.questions) == 1
    assert calls(await desk.say("thanks"))["compressor"] == 1


async def test_only_the_users_own_acknowledgement_saves_a_call() -> None:
    desk = talk(DISK, "Noted.")
    await desk.say("Why did the checkout fail?")
    assert calls(await desk.say("ok", Authority.TOOL))["compressor"] == 1


async def test_an_ordinary_turn_asks_the_compressor_and_the_generator_alone() -> None:
    desk = talk(DISK, "The disk of db-01.")
    await desk.say("The checkout of the shop fails since 09:14.")
    report = await desk.say("Since when does the checkout of the shop fail?")
    assert calls(report) == {"compressor": 1, "generator": 1}
    assert set(report.saved) == {"qualifier", "reflector", "curator"}
