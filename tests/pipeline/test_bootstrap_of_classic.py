"""A session that begins under a classic memory knows the user too."""

import pytest

from acc_ace.core.schemas.base import MEMORIES, MemoryName
from tests.fakes.place import Place
from tests.pipeline.test_session_life import KEY, LIKES, NEXT, Life


@pytest.mark.parametrize("memory", MEMORIES)
async def test_a_session_that_goes_on_with_acc_knows_the_notes_of_earlier_ones(
    place: Place, memory: MemoryName
) -> None:
    life = Life(place)
    await life.say(LIKES)
    await life.conversation.reset(KEY)
    await life.conversation.housekeep()
    [note] = await life.notes()
    assert LIKES in note
    await life.say("Hello.", NEXT, memory)
    state = await life.conversation.state(NEXT)
    await life.say("Go on.", NEXT, "acc")
    later = await life.conversation.state(NEXT)
    assert state is not None
    assert later is not None
    assert state.ccs.retrieved_artifacts
    assert set(state.ccs.retrieved_artifacts) <= set(later.ccs.retrieved_artifacts)
    await life.conversation.close()
