"""What an AccController may still write of a turn that is taken away while it runs."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest

from acc_ace.config import Role
from acc_ace.controller import AccController
from acc_ace.core.schemas.artifact import RecallQuery
from acc_ace.errors import ConflictError, SessionBusyError
from tests.fakes.default_replies import default_reply, prompt_text
from tests.fakes.place import Place
from tests.fakes.residue import residue
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.test_session_life import KEY, NEXT, Life

SECRET = "The walnut tree is my secret."


@pytest.fixture
async def life(place: Place) -> AsyncIterator[Life]:
    living = Life(place, limits={"turn_wait_s": 0.05})
    yield living
    await living.conversation.close()


def controller(life: Life, llm: ScriptedLlm | None = None) -> AccController:
    llm = llm or ScriptedLlm()
    models: dict[Role, BaseLlm] = {"qualifier": llm, "compressor": llm}
    return AccController(life.container, session=KEY.session, user=KEY.user, models=models)


async def recalled(life: Life) -> list[str]:
    about = RecallQuery(key=NEXT, text=SECRET, limit=20)
    found = (await life.container.artifacts.recall(about)).candidates
    return [candidate.artifact.content for candidate in found]


async def test_an_answer_after_the_users_erasure_leaves_nothing(life: Life) -> None:
    acc = controller(life)
    await acc.update_state(SECRET, None)
    await life.conversation.erase(KEY.tenant)
    with pytest.raises(ConflictError, match="call update_state again"):
        await acc.record("Noted.")
    assert await residue(life.conversation.container, KEY.tenant) == {}


async def test_an_answer_after_the_sessions_deletion_is_not_recalled(life: Life) -> None:
    acc = controller(life)
    await acc.update_state(SECRET, None)
    await life.conversation.forget_session(KEY)
    with pytest.raises(ConflictError, match="'s1' was deleted"):
        await acc.record("Noted.")
    assert await recalled(life) == []


async def test_an_answer_is_not_kept_in_the_next_session_of_the_name(life: Life) -> None:
    acc, other = controller(life), controller(life)
    await acc.update_state(SECRET, None)
    await life.conversation.forget_session(KEY)
    life.clock.advance(seconds=1)
    await other.update_state("Hello.", None)
    with pytest.raises(ConflictError):
        await acc.record("Noted.")
    await other.record("Hello, too.")
    assert await recalled(life) == []


async def test_an_answer_to_a_turn_that_was_undone_is_not_kept(life: Life) -> None:
    acc = controller(life)
    await acc.update_state(SECRET, None)
    await life.conversation.undo(KEY)
    with pytest.raises(ConflictError):
        await acc.record("Noted.")
    assert await recalled(life) == []


async def test_an_answer_may_come_after_the_next_turn_has_begun(life: Life) -> None:
    acc, other = controller(life), controller(life)
    ccs = await acc.update_state(SECRET, None)
    await other.update_state("And now?", ccs)
    await acc.record("Noted.")
    assert any("walnut" in text for text in await recalled(life))


async def test_an_answer_after_an_offload_is_still_offloaded(life: Life) -> None:
    acc = controller(life)
    await acc.update_state("I prefer short answers.", None)
    life.clock.advance(hours=1)
    await life.conversation.housekeep()
    assert await life.notes() == []
    life.clock.advance(seconds=1)
    await acc.record("Noted.")
    life.clock.advance(hours=1)
    await life.conversation.housekeep()
    assert any("short answers" in note for note in await life.notes())


async def test_an_erasure_is_not_done_while_a_controllers_turn_runs(life: Life) -> None:
    asked, go = asyncio.Event(), asyncio.Event()

    async def slow(request: LlmRequest) -> dict[str, Any]:
        asked.set()
        await go.wait()
        return default_reply("compressor", prompt_text(request))

    acc = controller(life, ScriptedLlm().on("compressor", slow))
    turn = asyncio.create_task(acc.update_state(SECRET, None))
    await asked.wait()
    with pytest.raises(SessionBusyError, match="session 's1' still runs"):
        await life.conversation.erase(KEY.tenant)
    go.set()
    await turn
    await acc.record("Noted.")
    await life.conversation.erase(KEY.tenant)
    assert await residue(life.conversation.container, KEY.tenant) == {}
