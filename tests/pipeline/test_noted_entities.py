"""Which entities become a note of a session: those of turns that were answered, and that stand."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest

from acc_ace.errors import ModelUnavailable
from tests.fakes.default_replies import prompt_text, said_in
from tests.fakes.place import Place
from tests.pipeline.talk import seen
from tests.pipeline.test_session_life import KEY, NEXT, Life

WALNUT = "server:walnut-07"


@pytest.fixture
async def life(place: Place) -> AsyncIterator[Life]:
    living = Life(place)
    living.llm.on("compressor", _naming)
    await living.say("Hello there.")
    yield living
    await living.conversation.close()


def _naming(request: LlmRequest) -> dict[str, Any]:
    """The entities alone: one when the turn speaks of it, else none."""
    return {"focal_entities": [WALNUT] if "walnut" in said_in(prompt_text(request)) else []}


async def noted(life: Life) -> list[str]:
    """Notes once the session was idle."""
    life.clock.advance(hours=2)
    await life.conversation.housekeep()
    return await life.notes()


async def test_entities_of_an_answered_turn_become_a_note(life: Life) -> None:
    await life.say("Look at walnut-07 please.")
    assert await noted(life) == [f"entities: {WALNUT}"]


async def test_entities_of_before_a_reset_become_a_note(life: Life) -> None:
    await life.say("Look at walnut-07 please.")
    await life.conversation.reset(KEY)
    assert await noted(life) == [f"entities: {WALNUT}"]


async def test_entities_of_an_undone_turn_become_none(life: Life) -> None:
    await life.say("Look at walnut-07 please.")
    await life.conversation.undo(KEY)
    assert await noted(life) == []
    await life.say("Good morning.", NEXT)
    assert WALNUT not in seen(life.llm.requests_of("compressor")[-1])


async def test_entities_of_a_failed_turn_become_none(life: Life) -> None:
    life.llm.on("generator", ModelUnavailable("down"))
    with pytest.raises(ModelUnavailable):
        await life.say("Look at walnut-07 please.")
    assert await noted(life) == []


async def test_entities_of_a_turn_that_runs_and_then_fails_become_none(life: Life) -> None:
    asked, answer = asyncio.Event(), asyncio.Event()
    working, read = asyncio.Event(), asyncio.Event()

    async def fail(_request: LlmRequest) -> dict[str, Any]:
        asked.set()
        await answer.wait()
        raise ModelUnavailable("down")

    async def think() -> None:
        working.set()
        await read.wait()

    life.llm.on("generator", fail)
    life.background.before = think
    turn = asyncio.create_task(life.say("Look at walnut-07 please."))
    await asked.wait()
    life.clock.advance(hours=2)
    work = asyncio.create_task(life.conversation.housekeep())
    await working.wait()
    answer.set()
    with pytest.raises(ModelUnavailable):
        await turn
    read.set()
    await work
    assert await noted(life) == []
