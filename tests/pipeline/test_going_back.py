"""Undo, rollback, reset and erase."""

import pytest

from acc_ace.core.schemas.interaction import Outcome
from acc_ace.errors import ConflictError, NotFoundError
from tests.pipeline.talk import KEY, Talk

BAN = "No restarts during business hours."


async def test_undo_takes_the_last_turn_back_with_its_evidence() -> None:
    talk = Talk()
    await talk.say("Help me restore checkout.")
    await talk.say(BAN)
    state = await talk.conversation.undo(KEY)
    assert (state.turn, state.ccs.constraints) == (1, [])
    assert (await talk.container.evidence.list(KEY))[0].outcome is Outcome.UNDONE
    report = await talk.say("What now?")
    assert report.turn == 2
    assert "turn:s1:2" not in report.recalled


async def test_undo_twice_goes_back_two_turns() -> None:
    talk = Talk()
    for text in ("Look at db-01.", "Look at db-02.", "Look at db-03."):
        await talk.say(text)
    await talk.conversation.undo(KEY)
    assert (await talk.conversation.undo(KEY)).turn == 1


async def test_a_named_turn_is_undone_once_however_often_it_is_asked() -> None:
    talk = Talk()
    for text in ("Look at db-01.", "Look at db-02.", "Look at db-03."):
        await talk.say(text)
    first = await talk.conversation.undo(KEY, turn=3)
    assert await talk.conversation.undo(KEY, turn=3) == first
    assert first.turn == 2
    assert (await talk.conversation.undo(KEY, turn=2)).turn == 1
    assert (await talk.conversation.undo(KEY, turn=2)).turn == 1


@pytest.mark.parametrize("turn", [1, 3])
async def test_a_named_turn_that_is_not_the_last_is_not_undone(turn: int) -> None:
    talk = Talk()
    await talk.say("Look at db-01.")
    await talk.say("Look at db-02.")
    last = await talk.conversation.state(KEY)
    with pytest.raises(ConflictError, match=f"is 2, not {turn}; nothing was undone"):
        await talk.conversation.undo(KEY, turn=turn)
    assert await talk.conversation.state(KEY) == last


async def test_a_turn_after_an_undo_is_not_taken_for_the_one_undone() -> None:
    talk = Talk()
    for text in ("Look at db-01.", "Look at db-02.", "Look at db-03."):
        await talk.say(text)
    await talk.conversation.rollback(KEY, 1)
    await talk.say("Look at db-04.")
    with pytest.raises(ConflictError, match="is 2, not 3"):
        await talk.conversation.undo(KEY, turn=3)


async def test_a_reset_is_no_undo() -> None:
    talk = Talk()
    await talk.say("Look at db-01.")
    await talk.conversation.reset(KEY)
    with pytest.raises(ConflictError, match="is 1, not 2"):
        await talk.conversation.undo(KEY, turn=2)


async def test_rollback_restores_content_as_a_new_version() -> None:
    talk = Talk()
    await talk.say(BAN)
    await talk.say("release c-0001")
    assert await talk.constraints() == []
    state = await talk.conversation.rollback(KEY, 1)
    assert (state.version, state.ccs.constraints) == (3, [BAN])


async def test_an_id_given_before_a_rollback_is_not_given_again() -> None:
    talk = Talk()
    await talk.say("Help me restore checkout.")
    first = (await talk.say(BAN)).constraints[0].id
    await talk.conversation.undo(KEY)
    second = (await talk.say("Never delete backups.")).constraints[0].id
    assert first != second


async def test_rollback_to_a_version_that_never_was_is_refused() -> None:
    talk = Talk()
    await talk.say(BAN)
    with pytest.raises(NotFoundError, match="version 9"):
        await talk.conversation.rollback(KEY, 9)


async def test_undo_before_the_first_turn_is_refused() -> None:
    with pytest.raises(NotFoundError, match="no turn to undo"):
        await Talk().conversation.undo(KEY)


async def test_reset_begins_from_nothing_and_keeps_evidence_searchable() -> None:
    talk = Talk()
    await talk.say(BAN)
    await talk.conversation.reset(KEY)
    state = await talk.conversation.state(KEY)
    assert state is not None
    assert state.ccs.constraints == []
    assert await talk.container.artifacts.get(KEY.tenant, "turn:s1:1") is not None


async def test_erase_leaves_nothing_of_the_user_and_all_of_others() -> None:
    talk = Talk()
    other = KEY._replace(user="other")
    await talk.say(BAN)
    await talk.conversation.turn(other, "Never delete backups.")
    counts = await talk.conversation.erase(KEY.tenant)
    assert counts["journal"] == 1
    assert await talk.conversation.state(KEY) is None
    assert await talk.container.artifacts.count(KEY.tenant) == 0
    assert await talk.conversation.state(other) is not None
