"""A going back whose process died, or whose store was away, after the journal had it."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from core.errors import ConflictError, StoreError
from schemas.artifact import RecallQuery
from schemas.commit import CommittedState
from schemas.memory_name import MemoryName
from tests.fakes.place import Place
from tests.pipeline.test_going_back_and_forth import answered, replayed, say
from tests.pipeline.test_session_life import KEY, Life


@pytest.fixture
async def life(place: Place) -> AsyncIterator[Life]:
    living = Life(place, offload=False)
    yield living
    await living.conversation.close()


async def cut_off(
    place: Place, going_back: Callable[[], Awaitable[CommittedState]], *, by: str
) -> None:
    """Let the state go back, and no row of a table change with it."""
    place.refuse_updates(by)
    with pytest.raises(StoreError):
        await going_back()
    place.allow_updates(by)


@pytest.mark.parametrize("by", ["interactions", "artifacts"])
async def test_an_undo_that_is_sent_again_takes_one_turn_back(
    life: Life, place: Place, by: str
) -> None:
    await say(life, "old", 1, 2, 3, 4)
    await cut_off(place, lambda: life.conversation.undo(KEY), by=by)
    assert (await life.conversation.undo(KEY)).turn == 3
    assert await replayed(life) == ["old-1", "old-2", "old-3"]


@pytest.mark.parametrize("by", ["interactions", "artifacts"])
async def test_an_undo_of_the_turn_before_one_that_was_cut_off_takes_both_back(
    life: Life, place: Place, by: str
) -> None:
    await say(life, "old", 1, 2, 3, 4)
    await cut_off(place, lambda: life.conversation.undo(KEY, turn=4), by=by)
    assert (await life.conversation.undo(KEY, turn=3)).turn == 2
    assert await replayed(life) == ["old-1", "old-2"]


async def test_an_undo_of_no_turn_that_is_left_finishes_one_that_was_cut_off_and_no_more(
    life: Life, place: Place
) -> None:
    await say(life, "old", 1, 2, 3, 4)
    await cut_off(place, lambda: life.conversation.undo(KEY, turn=4), by="interactions")
    with pytest.raises(ConflictError, match="is 3, not 2"):
        await life.conversation.undo(KEY, turn=2)
    assert (await life.conversation.undo(KEY, turn=4)).turn == 3
    assert await replayed(life) == ["old-1", "old-2", "old-3"]


@pytest.mark.parametrize("by", ["interactions", "artifacts"])
async def test_the_next_turn_does_not_know_a_turn_whose_undo_was_cut_off(
    life: Life, place: Place, by: str
) -> None:
    await say(life, "old", 1, 2, 3, 4)
    await cut_off(place, lambda: life.conversation.undo(KEY), by=by)
    assert await replayed(life) == ["old-1", "old-2", "old-3"]
    assert await answered(life) == [1, 2, 3, 4]
    about = RecallQuery(key=KEY, text="old-4 is what I say", limit=20)
    found = (await life.container.artifacts.recall(about)).candidates
    assert not any("old-4" in candidate.artifact.content for candidate in found)


async def test_an_undo_after_a_rollback_that_was_cut_off_takes_one_more_turn_back(
    life: Life, place: Place
) -> None:
    await say(life, "old", 1, 2, 3, 4)
    await cut_off(place, lambda: life.conversation.rollback(KEY, 2), by="interactions")
    assert (await life.conversation.undo(KEY)).turn == 1
    assert await replayed(life) == ["old-1"]


async def test_a_rollback_to_another_version_leaves_no_turn_of_one_that_was_cut_off(
    life: Life, place: Place
) -> None:
    await say(life, "old", 1, 2, 3, 4, 5)
    await life.conversation.rollback(KEY, 2)
    await say(life, "new", 3, 4)
    await cut_off(place, lambda: life.conversation.rollback(KEY, 5), by="interactions")
    await life.conversation.rollback(KEY, 4)
    assert await replayed(life) == ["old-1", "old-2", "old-3", "old-4"]


async def test_a_reset_leaves_no_turn_of_an_undo_that_was_cut_off(life: Life, place: Place) -> None:
    await say(life, "old", 1, 2)
    await cut_off(place, lambda: life.conversation.undo(KEY), by="interactions")
    await life.conversation.reset(KEY)
    assert await replayed(life) == []


async def test_turns_of_a_return_that_was_cut_off_stand_in_the_next_turn(
    life: Life, place: Place
) -> None:
    await say(life, "old", 1, 2, 3, 4)
    await life.conversation.rollback(KEY, 1)
    await life.conversation.rollback(KEY, 4)
    # As it is left by a process that died before the second turn stood again.
    place.execute("UPDATE interactions SET outcome = 'undone' WHERE turn = 2")
    assert await replayed(life) == ["old-1", "old-2", "old-3", "old-4"]


@pytest.mark.parametrize("by", ["interactions", "artifacts"])
async def test_the_next_turn_shows_the_turns_before_a_reset_whose_rollback_was_cut_off(
    life: Life, place: Place, by: str
) -> None:
    await say(life, "old", 1, 2, 3)
    await life.conversation.reset(KEY)
    await say(life, "new", 4)
    await cut_off(place, lambda: life.conversation.rollback(KEY, 3), by=by)
    assert await replayed(life) == ["old-1", "old-2", "old-3"]


async def test_the_next_turn_is_shown_no_summary_of_turns_whose_rollback_was_cut_off(
    place: Place,
) -> None:
    limits = {"history_tokens": 1200, "shutdown_grace_s": 0}
    life = Life(place, summarises=True, memory="summary", offload=False, limits=limits)
    life.background.text = '{"summary": "The badge number is walnut."}'
    for number in range(45):
        await life.say(f"Sensor {number} reads {number * 7} degrees.")
    await life.conversation.housekeep()
    await life.say("Go on.")
    assert "walnut" in str(life.llm.requests_of("generator")[-1])
    await cut_off(place, lambda: life.conversation.rollback(KEY, 1), by="artifacts")
    await life.say("Go on.")
    assert "walnut" not in str(life.llm.requests_of("generator")[-1])
    await life.conversation.close()


async def test_two_undos_that_were_whole_take_two_turns_back(life: Life) -> None:
    await say(life, "old", 1, 2, 3, 4, 5)
    await life.conversation.rollback(KEY, 2)
    await life.conversation.rollback(KEY, 5)
    await life.conversation.undo(KEY)
    assert (await life.conversation.undo(KEY)).turn == 3
    assert await replayed(life) == ["old-1", "old-2", "old-3"]


@pytest.mark.parametrize("memory", ["replay", "window"])
async def test_the_messages_of_a_reset_that_was_cut_off_are_gone_with_its_rules(
    life: Life, place: Place, memory: MemoryName
) -> None:
    for number in (1, 2):
        await life.say(f"old-{number}: never restart db-0{number}.", memory=memory)
    is_sqlite = place.settings.store == "sqlite"
    refuse = place.refuse_inserts if is_sqlite else place.refuse_updates
    refuse("session_directory")
    with pytest.raises(StoreError):
        await life.conversation.reset(KEY)
    place.allow_updates("session_directory")
    await life.say("new-1 is what I say.", memory=memory)
    await life.say("Go on.", memory=memory)
    shown = str(life.llm.requests_of("generator")[-1])
    assert "new-1" in shown
    assert "old-" not in shown
