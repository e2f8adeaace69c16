"""Sessions that go on, go back or end while their offload waits for its model."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest

from acc_ace.core.schemas.artifact import RecallQuery
from tests.fakes.place import Place
from tests.pipeline.test_session_life import KEY, LIKES, NEXT, Life


@pytest.fixture
async def life(place: Place) -> AsyncIterator[Life]:
    living = Life(place)
    yield living
    await living.conversation.close()


@asynccontextmanager
async def offloading(life: Life) -> AsyncIterator[None]:
    """An idle session's offload whose model thinks while the context is open; then it ends.

    Another offload that starts meanwhile, as a reset does, is answered at once.
    """
    asked, answer = asyncio.Event(), asyncio.Event()

    async def think() -> None:
        if not asked.is_set():
            asked.set()
            await answer.wait()

    life.background.before = think
    life.clock.advance(hours=2)
    work = asyncio.create_task(life.conversation.housekeep())
    first = asyncio.create_task(asked.wait())
    await asyncio.wait([work, first], return_when=asyncio.FIRST_COMPLETED)
    assert asked.is_set(), "no offload was due"
    yield
    answer.set()
    await work


@asynccontextmanager
async def run_answer(life: Life, text: str) -> AsyncIterator[None]:
    """A turn whose model thinks while the context is open; then it is answered."""
    asked, answer = asyncio.Event(), asyncio.Event()

    async def think(_request: LlmRequest) -> dict[str, Any]:
        asked.set()
        await answer.wait()
        return {"reasoning": [], "bullet_ids": [], "final_answer": "ok"}

    life.llm.on("generator", think)
    turn = asyncio.create_task(life.say(text))
    await asked.wait()
    yield
    answer.set()
    await turn


async def found(life: Life, text: str) -> set[str]:
    """What another session of the user recalls of this one."""
    query = RecallQuery(key=NEXT, text=text, limit=20, max_tokens=4_000)
    recall = await life.container.artifacts.recall(query)
    return {candidate.artifact.content.split("\n")[0] for candidate in recall.candidates}


async def test_what_is_said_after_a_reset_stays_searchable(life: Life) -> None:
    await life.say("Look at db-01.")
    async with offloading(life):
        await life.conversation.reset(KEY)
        await life.say("The zebra rotates on Friday.")
    assert await found(life, "zebra rotates db-01") >= {
        "user: Look at db-01.",
        "user: The zebra rotates on Friday.",
    }


async def test_what_is_said_after_an_undo_stays_searchable(life: Life) -> None:
    await life.say("Look at db-01.")
    await life.say("Look at db-02.")
    async with offloading(life):
        await life.conversation.undo(KEY)
        await life.say("The zebra rotates on Friday.")
    turns = await found(life, "zebra rotates db-01 db-02")
    assert "user: The zebra rotates on Friday." in turns
    assert "user: Look at db-02." not in turns


async def test_a_turn_that_ran_all_the_while_is_offloaded_once_the_session_is_idle(
    life: Life,
) -> None:
    await life.say("I prefer tea.")
    turn = run_answer(life, LIKES)
    await turn.__aenter__()
    async with offloading(life):
        await turn.__aexit__(None, None, None)
    assert await life.notes() == ["preference: I prefer tea."]
    life.clock.advance(hours=2)
    await life.conversation.housekeep()
    assert await life.notes() == ["preference: I prefer tea.", f"preference: {LIKES}"]
    assert await life.conversation.housekeep() == 0


async def test_a_turn_that_runs_while_there_is_nothing_to_offload_is_offloaded_later(
    place: Place,
) -> None:
    life = Life(place, limits={"turn_wait_s": 0.05})
    await life.say("Hello.")
    life.clock.advance(hours=2)
    assert await life.conversation.housekeep() == 1
    async with run_answer(life, LIKES):
        life.clock.advance(hours=2)
        assert await life.conversation.housekeep() == 0
    for _ in range(2):
        life.clock.advance(hours=2)
        await life.conversation.housekeep()
    assert await life.notes() == [f"preference: {LIKES}"]
    await life.conversation.close()


async def test_an_undone_turn_leaves_no_note_and_the_one_said_instead_does(life: Life) -> None:
    await life.say("I prefer tea.")
    await life.say(LIKES)
    async with offloading(life):
        await life.conversation.undo(KEY)
        await life.say("I prefer long answers.")
    assert await life.notes() == ["preference: I prefer tea."]
    life.clock.advance(hours=2)
    await life.conversation.housekeep()
    assert await life.notes() == [
        "preference: I prefer tea.",
        "preference: I prefer long answers.",
    ]


async def test_an_undone_turn_leaves_no_note_when_the_session_is_busy_then(place: Place) -> None:
    life = Life(place, limits={"turn_wait_s": 0.05})
    await life.say("Hello.")
    await life.say(LIKES)
    async with offloading(life):
        await life.conversation.undo(KEY)
        busy = life.container.lock.hold(KEY, wait_s=1)
        await busy.__aenter__()
    await busy.__aexit__(None, None, None)
    for _ in range(3):
        life.clock.advance(hours=1)
        await life.conversation.housekeep()
    assert await life.notes() == []
    await life.conversation.close()


async def test_notes_kept_with_consent_survive_the_offload_that_ran_meanwhile(life: Life) -> None:
    await life.say(LIKES)
    async with offloading(life):
        life.background.before = None  # The deletion has an offload of its own.
        assert await life.conversation.forget_session(KEY, keep_notes=True)
    assert await life.notes_kept() == [f"preference: {LIKES}"]


async def test_notes_kept_with_consent_survive_a_new_session_of_that_name(life: Life) -> None:
    await life.say(LIKES)
    await life.conversation.forget_session(KEY, keep_notes=True)
    await life.say(LIKES)
    life.clock.advance(hours=2)
    await life.conversation.housekeep()
    assert await life.notes() == [f"preference: {LIKES}"]
    await life.conversation.undo(KEY)
    assert f"preference: {LIKES}" in await found(life, LIKES)


async def test_a_session_deleted_while_it_is_offloaded_leaves_nothing(life: Life) -> None:
    await life.say(LIKES)
    async with offloading(life):
        await life.conversation.forget_session(KEY)
    assert await life.container.artifacts.count(KEY.tenant) == 0


async def test_an_offload_writes_nothing_of_a_session_whose_erasure_has_begun(life: Life) -> None:
    await life.say(LIKES)
    async with offloading(life), life.container.lock.hold(KEY, wait_s=1):
        # An erasure lets a session cease to be known, and then erases what is kept of it.
        await life.container.directory.erase(KEY.tenant, KEY.session)
    assert await found(life, LIKES) == {f"user: {LIKES}"}
