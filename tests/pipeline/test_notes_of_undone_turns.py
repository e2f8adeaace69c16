"""Notes leave with the turns that they rest on."""

from collections.abc import AsyncIterator

import pytest

from tests.fakes.place import Place
from tests.pipeline.test_session_life import KEY, LIKES, Life

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


async def test_a_note_leaves_with_its_turn(life: Life) -> None:
    await life.say("Hello.")
    await life.say(LIKES)
    assert await noted(life) == [NOTE]
    await life.conversation.undo(KEY)
    assert await life.notes() == []
    # Going forth restores the state; what was noted of retired turns stays away.
    await life.conversation.rollback(KEY, 2)
    assert await noted(life) == []


async def test_a_note_stays_when_a_turn_is_undone_that_only_said_it_again(life: Life) -> None:
    for text in (LIKES, "Hello.", LIKES):
        await life.say(text)
    assert await noted(life) == [NOTE]
    await life.conversation.undo(KEY)
    assert await noted(life) == [NOTE]
    assert await life.conversation.housekeep() == 0
