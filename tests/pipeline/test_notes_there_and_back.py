"""Notes follow the turns that led to a session's state, there and back again."""

from collections.abc import AsyncIterator

import pytest

from tests.fakes.place import Place
from tests.pipeline.talk import seen
from tests.pipeline.test_session_life import KEY, LIKES, NEXT, Life

NOTE = f"preference: {LIKES}"


@pytest.fixture
async def life(place: Place) -> AsyncIterator[Life]:
    living = Life(place)
    yield living
    await living.conversation.close()


async def noted(life: Life) -> list[str]:
    """Notes once the session was idle."""
    life.clock.advance(hours=2)
    await life.conversation.housekeep()
    return await life.notes()


async def test_a_note_comes_back_with_its_turn(life: Life) -> None:
    await life.say("Hello.")
    await life.say(LIKES)
    assert await noted(life) == [NOTE]
    await life.conversation.undo(KEY)
    assert await life.notes() == []
    await life.conversation.rollback(KEY, 2)
    assert await noted(life) == [NOTE]
    await life.say("Good morning.", NEXT)
    assert LIKES in seen(life.llm.requests_of("compressor")[-1])


async def test_a_note_comes_back_when_the_session_was_offloaded_without_its_turn(
    life: Life,
) -> None:
    await life.say("Hello.")
    await life.say(LIKES)
    await life.conversation.undo(KEY)
    assert await noted(life) == []
    await life.conversation.rollback(KEY, 2)
    assert await noted(life) == [NOTE]


async def test_a_note_stays_when_a_turn_is_undone_that_only_said_it_again(life: Life) -> None:
    for text in (LIKES, "Hello.", LIKES):
        await life.say(text)
    assert await noted(life) == [NOTE]
    await life.conversation.undo(KEY)
    assert await noted(life) == [NOTE]
    assert await life.conversation.housekeep() == 0
