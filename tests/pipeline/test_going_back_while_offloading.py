"""A session that goes back, and forth again, while its offload's model thinks keeps its notes."""

from collections.abc import AsyncIterator

import pytest

from tests.fakes.place import Place
from tests.pipeline.talk import seen
from tests.pipeline.test_changes_while_offloading import offloading
from tests.pipeline.test_session_life import KEY, LIKES, NEXT, Life

TEA = "I prefer green tea."


@pytest.fixture
async def life(place: Place) -> AsyncIterator[Life]:
    living = Life(place)
    yield living
    await living.conversation.close()


async def version(life: Life) -> int:
    state = await life.conversation.state(KEY)
    assert state is not None
    return state.version


async def test_notes_of_turns_that_stand_again_are_made_again(life: Life) -> None:
    await life.say("Hello.")
    early = await version(life)
    await life.say(LIKES)
    life.clock.advance(hours=1)
    await life.conversation.housekeep()
    assert await life.notes() == [f"preference: {LIKES}"]
    await life.say(TEA)
    newest = await version(life)
    async with offloading(life):
        await life.conversation.rollback(KEY, early)
        await life.conversation.rollback(KEY, newest)
    life.background.before = None
    life.clock.advance(hours=2)
    assert await life.conversation.housekeep() == 1
    assert set(await life.notes()) == {f"preference: {LIKES}", f"preference: {TEA}"}
    life.clock.advance(hours=2)
    assert await life.conversation.housekeep() == 0
    await life.say("Good morning.", NEXT)
    assert LIKES in seen(life.llm.requests_of("compressor")[-1])
