"""A known user's session whose first turn was undone begins once more."""

from collections.abc import AsyncIterator

import pytest

from acc_ace.errors import ModelUnavailable
from tests.fakes.default_replies import prompt_text, read_tagged
from tests.fakes.place import Place
from tests.pipeline.test_session_life import KEY, LIKES, NEXT, Life

BAN = "No restarts during business hours."


@pytest.fixture
async def life(place: Place) -> AsyncIterator[Life]:
    """One whose user said something in an earlier session."""
    living = Life(place)
    await living.say(LIKES)
    living.clock.advance(hours=1)
    await living.conversation.housekeep()
    yield living
    await living.conversation.close()


async def known(life: Life) -> list[str]:
    """What the session refers to."""
    state = await life.conversation.state(NEXT)
    assert state is not None
    return list(state.ccs.retrieved_artifacts)


def previous_state(life: Life) -> str:
    """What the last turn began with."""
    request = life.llm.requests_of("compressor")[-1]
    return str(read_tagged(prompt_text(request))["previous_state"])


async def test_it_begins_with_what_is_known_of_the_user(life: Life) -> None:
    await life.say("Good morning.", NEXT)
    before = await known(life)
    assert any(LIKES in reference for reference in before)
    await life.conversation.undo(NEXT)
    await life.say("Good morning.", NEXT)
    assert await known(life) == before
    state = await life.conversation.state(NEXT)
    assert state is not None
    assert (state.version, state.turn) == (3, 1)


async def test_it_begins_with_what_is_known_each_time_that_it_is_undone(life: Life) -> None:
    await life.say("Good morning.", NEXT)
    before = await known(life)
    for _ in range(3):
        await life.conversation.undo(NEXT)
        await life.say("Good morning.", NEXT)
        assert await known(life) == before


async def test_it_gives_no_id_twice(life: Life) -> None:
    await life.say(BAN, NEXT)
    await life.conversation.undo(NEXT)
    await life.say("Never delete backups.", NEXT)
    state = await life.conversation.state(NEXT)
    assert state is not None
    assert [(pin.id, pin.text) for pin in state.pins] == [("c-0002", "Never delete backups.")]


async def test_a_failed_turn_leaves_it_what_is_known(life: Life) -> None:
    await life.say("Good morning.", NEXT)
    before = await known(life)
    await life.conversation.undo(NEXT)
    life.llm.on("generator", ModelUnavailable("down"), {"final_answer": "ok"})
    with pytest.raises(ModelUnavailable):
        await life.say("Good morning.", NEXT)
    await life.say("Good morning.", NEXT)
    assert await known(life) == before


async def test_a_reset_session_begins_from_nothing(life: Life) -> None:
    await life.say("Good morning.", NEXT)
    await life.conversation.undo(NEXT)
    await life.conversation.reset(NEXT)
    await life.say("Good morning.", KEY._replace(session="s3"))
    assert LIKES in previous_state(life)
    await life.say("Good morning.", NEXT)
    assert LIKES not in previous_state(life)


async def test_a_reset_session_begins_from_nothing_also_when_its_next_turn_is_undone(
    life: Life,
) -> None:
    await life.say("Good morning.", NEXT)
    await life.conversation.undo(NEXT)
    await life.conversation.reset(NEXT)
    await life.say("Good morning.", NEXT)
    await life.conversation.undo(NEXT)
    await life.say("Good morning.", NEXT)
    assert LIKES not in previous_state(life)
