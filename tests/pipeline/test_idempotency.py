"""A turn that is sent twice under one idempotency key is taken once."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from google.adk.models.llm_request import LlmRequest

from acc_ace import AccController, Conversation
from acc_ace.errors import InputError, ModelUnavailable, SessionBusyError
from config import ROLES
from schemas.interaction import Outcome
from tests.fakes.place import Place
from tests.fakes.scripted_llm import Reply, ScriptedLlm
from tests.pipeline.talk import KEY, Talk, settings

RULE = "Rule: Never restart db-01 before noon."


@pytest.fixture
async def talk(place: Place) -> AsyncIterator[Talk]:
    talking = Talk(place.settings)
    yield talking
    await talking.conversation.close()


async def test_a_repeat_reports_the_same_turn_and_runs_nothing(talk: Talk) -> None:
    first = await talk.conversation.turn(KEY, RULE, idempotency_key="a-1")
    asked = len(talk.llm.requests)
    again = await talk.conversation.turn(KEY, RULE, idempotency_key="a-1")
    assert len(talk.llm.requests) == asked
    same = {"turn", "input", "answer", "ccs", "ccs_diff", "constraints", "ccs_version", "session"}
    assert again.model_dump(include=same) == first.model_dump(include=same)
    assert len(await talk.conversation.history(KEY)) == 1


async def test_a_repeat_is_known_to_another_process(talk: Talk, place: Place) -> None:
    first = await talk.conversation.turn(KEY, RULE, idempotency_key="a-1")
    other = Conversation(place.open(), models=dict.fromkeys(ROLES, ScriptedLlm()))
    assert (await other.turn(KEY, RULE, idempotency_key="a-1")).answer == first.answer
    assert len(await other.history(KEY)) == 1
    await other.close()


async def test_keys_belong_to_their_session(talk: Talk) -> None:
    await talk.conversation.turn(KEY, RULE, idempotency_key="a-1")
    other = KEY._replace(session="s2")
    assert (await talk.conversation.turn(other, RULE, idempotency_key="a-1")).session == "s2"
    assert len(await talk.conversation.history(other)) == 1


async def test_a_key_is_not_good_for_other_words(talk: Talk) -> None:
    await talk.conversation.turn(KEY, RULE, idempotency_key="a-1")
    with pytest.raises(InputError, match="idempotency key 'a-1' was used for another input"):
        await talk.conversation.turn(KEY, "Restart it.", idempotency_key="a-1")


async def test_a_turn_that_failed_is_taken_under_the_same_key(talk: Talk) -> None:
    talk.llm.on("generator", ModelUnavailable("down"), {"final_answer": "ok"})
    with pytest.raises(ModelUnavailable):
        await talk.conversation.turn(KEY, RULE, idempotency_key="a-1")
    answered = await talk.conversation.turn(KEY, RULE, idempotency_key="a-1")
    assert answered.answer.startswith("ok\n\nIn force: c-0001 ")
    kept = await talk.container.evidence.list(KEY)
    assert [turn.outcome for turn in kept].count(Outcome.ANSWERED) == 1


async def test_a_turn_that_was_undone_may_be_sent_again(talk: Talk) -> None:
    await talk.conversation.turn(KEY, RULE, idempotency_key="a-1")
    await talk.conversation.undo(KEY)
    report = await talk.conversation.turn(KEY, RULE, idempotency_key="a-1")
    assert (report.turn, report.ccs_version) == (1, 3)


async def test_a_repeat_while_the_turn_runs_is_refused() -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_: LlmRequest) -> Reply:
        reached.set()
        await go_on.wait()
        return {"final_answer": "done"}

    talk = Talk(settings(turn_wait_s=0), ScriptedLlm().on("generator", slow))
    first = asyncio.create_task(talk.conversation.turn(KEY, RULE, idempotency_key="a-1"))
    await reached.wait()
    with pytest.raises(SessionBusyError):
        await talk.conversation.turn(KEY, RULE, idempotency_key="a-1")
    go_on.set()
    answered = await first
    assert answered.answer.startswith("done\n\nIn force: c-0001 ")
    again = await talk.conversation.turn(KEY, RULE, idempotency_key="a-1")
    assert again.answer == answered.answer
    assert len(talk.llm.requests_of("generator")) == 1
    await talk.conversation.close()


async def test_two_at_once_are_one_turn(talk: Talk) -> None:
    reports = await asyncio.gather(
        *(talk.conversation.turn(KEY, RULE, idempotency_key="a-1") for _ in range(3))
    )
    assert {(report.turn, report.answer) for report in reports} == {(1, reports[0].answer)}
    assert len(talk.llm.requests_of("generator")) == 1


@pytest.mark.parametrize("name", [" ", "a\n", "x" * 257])
async def test_a_key_that_no_store_can_keep_is_refused(talk: Talk, name: str) -> None:
    with pytest.raises(InputError, match="idempotency key"):
        await talk.conversation.turn(KEY, RULE, idempotency_key=name)


async def test_an_update_of_the_controller_is_made_once(place: Place) -> None:
    llm = ScriptedLlm()
    controller = AccController(place.open(), session="s1", models=dict.fromkeys(ROLES, llm))
    first = await controller.update_state(RULE, None, idempotency_key="a-1")
    asked = len(llm.requests)
    again = AccController(place.open(), session="s1", models=dict.fromkeys(ROLES, llm))
    assert await again.update_state(RULE, None, idempotency_key="a-1") == first
    assert len(llm.requests) == asked
    # Whoever did not hear of the update records its answer nonetheless.
    await again.record("Understood.")
    assert again.last_commit is not None
    assert again.last_commit.state.version == 1
    await controller.close()
    await again.close()
