"""A model that fails costs a warning or the turn, never the state."""

import asyncio
from typing import Literal

import pytest
from google.adk.models.llm_request import LlmRequest

from acc_ace.core.schemas.interaction import Outcome
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.errors import (
    ModelOutputError,
    ModelUnavailable,
    SessionBusyError,
)
from config import Settings
from tests.fakes.reading_llm import fails, reads
from tests.fakes.scripted_llm import call
from tests.pipeline.talk import KEY, Talk, seen, settings

BAN = "No restarts during business hours."
SHY = "Restarts belong to the night shift."
"""No rule to the trained reader: only a compressor finds it."""
MODES = pytest.mark.parametrize("mode", ["every", "adaptive"])
BROKEN = ['{"episodic_trace": "cut', "not json at all", "", "[]", '{"a": 1}']


@pytest.mark.parametrize("reply", BROKEN)
async def test_a_broken_compressor_keeps_the_last_state_and_says_so(reply: str) -> None:
    talk = Talk()
    await talk.say(BAN)
    talk.llm.on("compressor", reply)
    report = await talk.say("What now?")
    assert [constraint.text for constraint in report.constraints] == [BAN]
    assert any(warning.startswith("compressor:") for warning in report.warnings)
    assert "not updated" in report.ccs.uncertainty_signal


async def test_a_compressor_that_is_down_does_not_lose_a_new_rule() -> None:
    talk = Talk()
    talk.llm.on("compressor", ModelUnavailable("compressor: 503"))
    report = await talk.say(BAN)
    assert [constraint.text for constraint in report.constraints] == [BAN]


@MODES
async def test_what_no_compressor_could_read_for_six_turns_stays_and_is_read_then(
    mode: Literal["every", "adaptive"],
) -> None:
    talk = Talk(Settings(store="memory", learning="off", compress=mode))
    talk.llm.on("compressor", fails)
    said = [SHY, *(f"Pump {turn} is loud." for turn in range(6))]
    for text in said:
        await talk.say(text)
    request = seen(talk.llm.requests_of("generator")[-1])
    assert [text for text in said if text not in request] == []
    talk.llm._scripts["compressor"] = [reads({SHY: "restriction"})]
    report = await talk.say("And the fans?")
    assert await talk.constraints() == [SHY]
    assert "From an earlier message of yours, read now:" in report.notes


async def unread(talk: Talk) -> int:
    """How many messages no compressor has read."""
    state = await talk.conversation.state(KEY)
    assert state is not None
    return await talk.conversation.rules.unread(KEY, state)


@MODES
async def test_an_outage_makes_no_request_to_a_compressor_much_longer(
    mode: Literal["every", "adaptive"],
) -> None:
    talk = Talk(Settings(store="memory", learning="off", compress=mode))
    talk.llm.on("compressor", fails)
    for turn in range(30):
        await talk.say(f"Pump {turn} is loud." + f" It hums in bay {turn}." * 60)
    asked = talk.llm.requests_of("compressor")
    assert max(estimate_tokens(seen(each)) for each in asked) < 6_000
    assert await unread(talk) == 30
    talk.llm._scripts["compressor"] = [reads({})]
    for _ in range(4):
        await talk.say("And the fans?")
    # With `adaptive` nothing asks for a reading of the newest questions.
    assert await unread(talk) < 4


@MODES
async def test_unread_words_over_the_budget_stand_as_their_place_until_they_are_read(
    mode: Literal["every", "adaptive"],
) -> None:
    talk = Talk(Settings(store="memory", learning="off", compress=mode))
    talk.llm.on("compressor", fails)
    for turn in range(9):
        report = await talk.say(
            f"Pump {turn} is loud." + f" It hums in bay {turn}." * 50 + f" {SHY}"
        )
        assert estimate_tokens(report.ccs.model_dump_json()) < 3_200
    assert "what the user said in 5 turns is unread and not shown" in report.warnings
    request = seen(talk.llm.requests_of("generator")[-1])
    assert "turns 1 to 5: unread and not shown: search_evidence" in request
    talk.llm._scripts["compressor"] = [reads({SHY: "restriction"})]
    report = await talk.say("And the fans?")
    assert await talk.constraints() == [SHY]
    assert "unread" not in str(report.warnings)


async def test_a_repair_call_tells_the_model_what_was_wrong() -> None:
    talk = Talk()
    talk.llm.on("compressor", "nonsense", "nonsense")
    await talk.say("Hello.")
    first, second = talk.llm.requests_of("compressor")
    assert "could not be used" not in str(first.contents)
    assert "could not be used" in str(second.contents)


async def test_a_qualifier_that_is_down_qualifies_nothing_it_was_asked() -> None:
    talk = Talk()
    for text in ("The disk of db-01 is full.", "Who owns db-01?"):
        await talk.say(text)
    talk.llm.on("qualifier", ModelUnavailable("qualifier: 503"))
    report = await talk.say("Since when is it full?")
    assert {verdict.reason for verdict in report.qualified if not verdict.ok} == {"unjudged"}
    assert report.answer


@pytest.mark.parametrize(
    "failure", [ModelUnavailable("generator: 503"), ModelOutputError("generator: empty reply")]
)
async def test_a_turn_without_an_answer_is_wholly_undone(failure: Exception) -> None:
    talk = Talk()
    await talk.say("Help me restore checkout.")
    before = await talk.conversation.state(KEY)
    talk.llm.on("generator", failure)
    with pytest.raises(type(failure)):
        await talk.say(BAN)
    assert await talk.conversation.state(KEY) == before
    assert (await talk.container.evidence.list(KEY))[0].outcome == Outcome.FAILED


async def test_the_turn_after_a_failed_one_goes_on_as_if_it_never_was() -> None:
    talk = Talk()
    talk.llm.on("generator", ModelUnavailable("generator: 503"), {"final_answer": "Fine."})
    with pytest.raises(ModelUnavailable):
        await talk.say(BAN)
    report = await talk.say(BAN)
    assert report.turn == 1
    assert report.warnings == []
    assert [constraint.text for constraint in report.constraints] == [BAN]


async def test_a_cancelled_turn_is_wholly_undone() -> None:
    talk = Talk()
    started = asyncio.Event()

    async def hang(_: LlmRequest) -> str:
        started.set()
        await asyncio.sleep(3_600)
        return "never"

    talk.llm.on("generator", hang)
    turn = asyncio.create_task(talk.say(BAN))
    await started.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert await talk.constraints() == []


async def test_a_second_turn_of_a_session_waits_for_the_first() -> None:
    talk = Talk()
    first, second = await asyncio.gather(talk.say("Look at db-01."), talk.say("Look at db-02."))
    assert {first.turn, second.turn} == {1, 2}


async def test_a_second_turn_that_waits_too_long_is_told_so_before_any_model_is_paid() -> None:
    talk = Talk(settings(turn_wait_s=0.01))
    gate = asyncio.Event()
    started = asyncio.Event()

    async def wait(_: LlmRequest) -> str:
        started.set()
        await gate.wait()
        return '{"final_answer": "done"}'

    talk.llm.on("generator", wait)
    first = asyncio.create_task(talk.say("Look at db-01."))
    await started.wait()
    calls = len(talk.llm.requests)
    with pytest.raises(SessionBusyError):
        await talk.say("Look at db-02.")
    assert len(talk.llm.requests) == calls
    gate.set()
    assert (await first).answer == "done"


async def test_a_rule_over_the_budget_is_said_not_kept_and_none_is_dropped() -> None:
    talk = Talk(settings(constraints_tokens=32))
    await talk.say(BAN)
    rule = (
        "Never delete any backup of the billing, ledger, payroll, invoice, customer, "
        "audit, archive, warehouse and reporting databases without written approval of the owner."
    )
    report = await talk.say(f"Rule: {rule}")
    assert "no room left: 'Never delete any backup" in report.answer
    assert "ACC_ACE_LIMITS__CONSTRAINTS_TOKENS" in report.answer
    assert await talk.constraints() == [BAN]


async def test_plain_text_instead_of_json_is_taken_as_the_answer() -> None:
    talk = Talk()
    talk.llm.on("generator", "db-01 is healthy.")
    report = await talk.say("How is db-01?")
    assert report.answer == "db-01 is healthy."
    assert report.warnings == []


async def test_a_cut_answer_is_shown_as_far_as_it_goes_with_a_warning() -> None:
    talk = Talk()
    talk.llm.on("generator", '{"reasoning": [], "bullet_ids": [], "final_answer": "db-01 is')
    report = await talk.say("How is db-01?")
    assert report.answer == "db-01 is"
    assert any("broken reply" in warning for warning in report.warnings)


async def test_an_invented_bullet_id_is_not_recorded_as_used() -> None:
    talk = Talk()
    talk.llm.on("generator", {"final_answer": "ok", "bullet_ids": ["b-99999"]})
    report = await talk.say("How is db-01?")
    assert report.bullet_ids == []
    assert any("b-99999" in warning for warning in report.warnings)


async def test_a_failing_reflector_or_curator_costs_a_warning_not_the_answer() -> None:
    talk = Talk()
    talk.llm.on("reflector", ModelUnavailable("reflector: 503"))
    report = await talk.say("How is db-01?")
    assert report.answer
    assert any(warning.startswith("reflector:") for warning in report.warnings)
    assert "curator" not in talk.llm.roles


async def test_an_empty_curator_reply_does_not_apply_the_last_delta_again() -> None:
    talk = Talk()
    add = {"operations": [{"type": "ADD", "section": "tools", "content": "Check the disk first."}]}
    talk.llm.on("curator", add, "", "")
    await talk.say("Look at db-01.")
    report = await talk.say("Look at db-02.")
    assert report.deltas == []
    assert len((await talk.conversation.playbook()).playbook.bullets) == 1


async def test_a_tool_loop_without_end_fails_the_turn_with_its_limit() -> None:
    talk = Talk(settings(tool_calls=2))
    talk.llm.on("generator", call("calculate", expression="1+1"))
    with pytest.raises(ModelOutputError, match="ACC_ACE_LIMITS__TOOL_CALLS"):
        await talk.say("Loop.")
    assert len(talk.llm.requests_of("generator")) <= 6
