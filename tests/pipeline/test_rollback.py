"""Rollback, undo and reset: a new version with an older content, in one transaction."""

from collections.abc import AsyncIterator

import pytest

from acc_ace.errors import ConflictError, ModelUnavailable, NotFoundError, StoreError
from acc_ace.turn.transcript import messages_of
from acc_ace.unit_of_work import Write
from schemas.artifact import RecallQuery
from schemas.interaction import Outcome
from tests.fakes.place import Place
from tests.pipeline.test_session_life import KEY, Life

WORDS = [f"{when}-{number}" for when in ("old", "new") for number in range(1, 7)]


@pytest.fixture
async def life(place: Place) -> AsyncIterator[Life]:
    living = Life(place, offload=False)
    yield living
    await living.conversation.close()


async def replayed(life: Life) -> list[str]:
    """The words of the turns that stand since the last reset."""
    record = await life.container.directory.find(KEY)
    begin = record.history_from if record else 0
    turns = [turn for turn in await life.container.evidence.list(KEY) if turn.turn > begin]
    messages = [message.content or "" for message in messages_of(reversed(turns))]
    return [word for word in WORDS if any(f"{word} " in text for text in messages)]


async def answered(life: Life) -> list[int]:
    turns = await life.container.evidence.list(KEY)
    return [turn.turn for turn in turns if turn.outcome is Outcome.ANSWERED][::-1]


async def say(life: Life, when: str, *numbers: int) -> None:
    for number in numbers:
        await life.say(f"{when}-{number} is what I say.")


async def recalled(life: Life, words: str) -> list[str]:
    """Ids of what a search for the words finds."""
    query = RecallQuery(key=KEY, text=words, limit=20)
    found = (await life.container.artifacts.recall(query)).candidates
    return [candidate.artifact.artifact_id for candidate in found]


async def test_a_rollback_appends_a_version_and_retires_later_turns(life: Life) -> None:
    await say(life, "old", 1, 2, 3, 4)
    restored = await life.conversation.rollback(KEY, 2)
    assert (restored.version, restored.turn) == (5, 2)
    assert [entry.state.version for entry in await life.conversation.history(KEY)] == [
        5,
        4,
        3,
        2,
        1,
    ]
    assert await answered(life) == [1, 2]
    assert "turn:s1:4" not in await recalled(life, "old-4 is what I say")
    assert await replayed(life) == ["old-1", "old-2"]


async def test_going_forth_restores_the_state_and_brings_no_retired_words_back(life: Life) -> None:
    await say(life, "old", 1, 2, 3, 4)
    later = await life.conversation.state(KEY)
    await life.conversation.rollback(KEY, 2)
    restored = await life.conversation.rollback(KEY, 4)
    assert later is not None
    assert (restored.version, restored.turn, restored.ccs) == (6, 4, later.ccs)
    assert await answered(life) == [1, 2]
    assert "turn:s1:4" not in await recalled(life, "old-4 is what I say")
    # The next turn goes on with the number after it.
    await say(life, "new", 5)
    assert await answered(life) == [1, 2, 5]


async def test_going_to_a_line_that_was_left_retires_the_turns_of_this_one(life: Life) -> None:
    await say(life, "old", 1, 2, 3)
    await life.conversation.rollback(KEY, 1)
    # It has the number of the turn that was left.
    await say(life, "new", 2)
    assert await answered(life) == [1, 2]
    restored = await life.conversation.rollback(KEY, 3)
    assert (restored.version, restored.turn) == (6, 3)
    assert await answered(life) == [1]
    assert "turn:s1:2" not in await recalled(life, "new-2 is what I say")
    assert await replayed(life) == ["old-1"]


async def test_undo_goes_back_along_the_line_that_led_to_the_head(life: Life) -> None:
    await say(life, "old", 1, 2, 3)
    assert (await life.conversation.undo(KEY)).turn == 2
    assert (await life.conversation.undo(KEY)).turn == 1
    await say(life, "new", 2)
    assert (await life.conversation.undo(KEY)).turn == 1
    assert (await life.conversation.undo(KEY)).turn == 0
    with pytest.raises(NotFoundError):
        await life.conversation.undo(KEY)


async def test_an_undo_of_a_named_turn_is_done_once(life: Life) -> None:
    await say(life, "old", 1, 2, 3)
    assert (await life.conversation.undo(KEY, turn=3)).turn == 2
    again = await life.conversation.undo(KEY, turn=3)
    assert (again.turn, again.version) == (2, 4)
    with pytest.raises(ConflictError):
        await life.conversation.undo(KEY, turn=1)


@pytest.mark.parametrize("part", ["artifacts", "evidence", "directory"])
async def test_a_rollback_whose_store_fails_changes_nothing(
    life: Life, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    await say(life, "old", 1, 2, 3)
    writes = {
        "artifacts": "retire_write",
        "evidence": "undone_write",
        "directory": "restored_write",
    }

    def failing(*_: object, **__: object) -> Write:
        def write(_: object) -> None:
            raise StoreError("the disk is full")

        return write

    with monkeypatch.context() as patched:
        patched.setattr(getattr(life.container, part), writes[part], failing)
        with pytest.raises(StoreError, match="the disk is full"):
            await life.conversation.undo(KEY)
    head = await life.conversation.state(KEY)
    assert head is not None
    assert (head.version, head.turn) == (3, 3)
    assert await answered(life) == [1, 2, 3]
    assert "turn:s1:3" in await recalled(life, "old-3 is what I say")


async def test_a_failed_turn_is_no_turn_of_the_line(life: Life) -> None:
    await say(life, "old", 1, 2)
    life.llm.on("generator", ModelUnavailable("down"), {"final_answer": "ok"})
    with pytest.raises(ModelUnavailable):
        await say(life, "old", 6)
    await say(life, "old", 3)
    await life.conversation.undo(KEY)
    assert await answered(life) == [1, 2]
    assert (await life.conversation.undo(KEY)).turn == 1


async def test_an_undo_after_a_second_reset_does_not_bring_back_the_first_talk(life: Life) -> None:
    await say(life, "old", 1)
    await life.conversation.reset(KEY)
    await say(life, "old", 2, 3)
    await life.conversation.reset(KEY)
    await life.conversation.undo(KEY)
    assert await replayed(life) == ["old-2"]


async def test_the_state_of_before_a_reset_comes_back_with_its_messages(life: Life) -> None:
    await say(life, "old", 1, 2)
    await life.conversation.reset(KEY)
    await life.conversation.rollback(KEY, 2)
    assert await replayed(life) == ["old-1", "old-2"]


async def test_a_reset_that_was_undone_holds_again_after_going_forth(life: Life) -> None:
    await say(life, "old", 1, 2)
    await life.conversation.reset(KEY)
    await say(life, "old", 3)
    await life.conversation.rollback(KEY, 1)
    await life.conversation.rollback(KEY, 4)
    assert await replayed(life) == []
