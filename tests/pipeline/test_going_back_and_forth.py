"""Going back, and forth again: evidence, messages and recall are those of the restored state."""

from collections.abc import AsyncIterator

import pytest

from core.errors import ModelUnavailable
from schemas.artifact import RecallQuery
from schemas.interaction import Outcome
from tests.fakes.place import Place
from tests.pipeline.talk import seen
from tests.pipeline.test_session_life import KEY, Life

WORDS = [f"{when}-{number}" for when in ("old", "new") for number in range(1, 7)]


@pytest.fixture
async def life(place: Place) -> AsyncIterator[Life]:
    living = Life(place, offload=False)
    yield living
    await living.conversation.close()


async def replayed(life: Life) -> list[str]:
    """The words of earlier turns that the next one is shown."""
    await life.say("Go on.", memory="replay")
    request = str(life.llm.requests_of("generator")[-1].contents)
    return [word for word in WORDS if f"{word} " in request]


async def answered(life: Life) -> list[int]:
    turns = await life.container.evidence.list(KEY)
    return [turn.turn for turn in turns if turn.outcome is Outcome.ANSWERED][::-1]


async def say(life: Life, when: str, *numbers: int) -> None:
    for number in numbers:
        await life.say(f"{when}-{number} is what I say.", memory="replay")


async def test_turns_that_were_undone_stand_again_after_going_forth(life: Life) -> None:
    await say(life, "old", 1, 2, 3, 4, 5)
    await life.conversation.rollback(KEY, 2)
    assert await answered(life) == [1, 2]
    await life.conversation.rollback(KEY, 5)
    assert await answered(life) == [1, 2, 3, 4, 5]
    about = RecallQuery(key=KEY, text="old-4 is what I say", limit=20)
    recalled = (await life.container.artifacts.recall(about)).candidates
    assert "turn:s1:4" in [found.artifact.artifact_id for found in recalled]
    assert await replayed(life) == WORDS[:5]


async def test_a_line_of_turns_that_was_left_comes_back_without_the_other_one(life: Life) -> None:
    await say(life, "old", 1, 2, 3, 4, 5)
    await life.conversation.rollback(KEY, 2)
    await say(life, "new", 3, 4)
    await life.conversation.rollback(KEY, 5)
    assert await answered(life) == [1, 2, 3, 4, 5]
    third = await life.container.artifacts.get(KEY.tenant, "turn:s1:3")
    assert third is not None
    assert "old-3" in third.content
    assert await replayed(life) == ["old-1", "old-2", "old-3", "old-4", "old-5"]
    # And to the other one: version 8 is its turn 4.
    await life.conversation.rollback(KEY, 8)
    assert await replayed(life) == ["old-1", "old-2", "new-3", "new-4"]


async def test_an_undo_takes_back_a_turn_of_the_line_that_was_returned_to(life: Life) -> None:
    await say(life, "old", 1, 2, 3, 4, 5)
    await life.conversation.rollback(KEY, 2)
    await say(life, "new", 3)
    await life.conversation.rollback(KEY, 5)
    assert (await life.conversation.undo(KEY)).turn == 4
    assert await replayed(life) == ["old-1", "old-2", "old-3", "old-4"]


async def test_going_back_again_does_what_a_process_that_died_has_left(
    life: Life, place: Place
) -> None:
    await say(life, "old", 1, 2, 3, 4)
    await life.conversation.rollback(KEY, 1)
    await life.conversation.rollback(KEY, 4)
    # As it is left by a process that died after it had written the journal.
    place.execute("UPDATE interactions SET outcome = 'undone' WHERE turn > 1")
    await life.conversation.rollback(KEY, 4)
    assert await replayed(life) == WORDS[:4]


async def test_a_journal_of_before_lines_were_noted_is_read_by_its_contents(
    life: Life, place: Place
) -> None:
    await say(life, "old", 1, 2, 3)
    await life.conversation.rollback(KEY, 1)
    await say(life, "new", 2, 3)
    place.execute("""UPDATE journal SET body = replace(body, ',"follows":1', '')""")
    noted = [entry.follows for entry in await life.conversation.history(KEY)]
    assert noted == [None] * 6
    await life.conversation.rollback(KEY, 3)
    assert await replayed(life) == ["old-1", "old-2", "old-3"]


async def test_a_rollback_of_before_lines_were_noted_is_no_reset(life: Life, place: Place) -> None:
    await say(life, "old", 1, 2, 3)
    await life.conversation.rollback(KEY, 2)
    place.execute("""UPDATE journal SET body = replace(body, ',"follows":2', '')""")
    assert await replayed(life) == ["old-1", "old-2"]


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
    assert await replayed(life) == ["old-3"]


@pytest.fixture
async def summarising(place: Place) -> AsyncIterator[Life]:
    limits = {"history_tokens": 1_200, "shutdown_grace_s": 0}
    living = Life(place, summarises=True, memory="summary", offload=False, limits=limits)
    living.background.text = '{"summary": "The plan of turn four."}'
    yield living
    await living.conversation.close()


async def summed_up(life: Life) -> int:
    """The last turn that the summary covers; 0 without one."""
    record = await life.container.directory.find(KEY)
    return record.summary.through_turn if record and record.summary else 0


async def until_summed_up(life: Life) -> int:
    """How many turns it took."""
    for number in range(1, 60):
        await life.say(f"Sensor {number} reads {number * 7} degrees today.")
        await life.conversation.housekeep()
        if await summed_up(life):
            return number
    raise AssertionError("no summary came")


async def test_a_rollback_across_a_summary_forgets_it(summarising: Life) -> None:
    life = summarising
    await until_summed_up(life)
    assert await summed_up(life) > 2
    await life.conversation.rollback(KEY, 2)
    await life.say("What now?")
    request = seen(life.llm.requests_of("generator")[-1])
    assert "The plan of turn four." not in request
    assert "Sensor 1 reads" in request
    assert "Sensor 2 reads" in request
    assert "Sensor 3 reads" not in request
    await life.say("And then?")
    assert "What now?" in seen(life.llm.requests_of("generator")[-1])


async def test_an_undo_keeps_a_summary_of_turns_that_stand(summarising: Life) -> None:
    life = summarising
    await until_summed_up(life)
    through = await summed_up(life)
    await life.conversation.undo(KEY)
    assert await summed_up(life) == through


async def test_a_summary_that_was_begun_before_a_rollback_is_not_kept(summarising: Life) -> None:
    life = summarising

    async def go_back() -> None:
        life.background.before = None
        await life.conversation.rollback(KEY, 2)

    life.background.before = go_back
    for number in range(1, 60):
        await life.say(f"Sensor {number} reads {number * 7} degrees today.")
        await life.conversation.housekeep()
        if life.background.before is None:
            break
    assert life.background.asked
    assert await summed_up(life) == 0
    assert await answered(life) == [1, 2]
