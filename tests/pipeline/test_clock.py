"""A clock that is set back damages nothing: turns, locks and staleness go on by what is sane."""

from pathlib import Path

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.conversation import Conversation
from acc_ace.core.schemas.interaction import Outcome
from tests.fakes.clock import FixedClock
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.talk import KEY, seen

BAN = "Never restart db-01."


async def test_a_conversation_goes_on_in_order_after_the_clock_was_set_back(
    tmp_path: Path,
) -> None:
    clock, llm = FixedClock(), ScriptedLlm()
    container = build_container(Settings(store="sqlite", data_dir=tmp_path), clock)
    talk = Conversation(container, models=dict.fromkeys(ROLES, llm))
    await talk.turn(KEY, BAN)
    clock.advance(days=-400)
    await talk.turn(KEY, "List two options: wait, or fail over.")
    clock.advance(hours=-1)
    last = await talk.turn(KEY, "Do the second option you listed.")
    assert last.turn == 3
    state = await talk.state(KEY)
    assert state is not None
    assert (state.turn, state.ccs.constraints) == (3, [BAN])
    recalled = "\n".join(map(seen, llm.requests))
    assert "List two options" in recalled
    undone = await talk.undo(KEY)
    assert undone.turn == 2
    turns = await container.evidence.list(KEY)
    assert [(turn.turn, turn.outcome) for turn in turns] == [
        (3, Outcome.UNDONE),
        (2, Outcome.ANSWERED),
        (1, Outcome.ANSWERED),
    ]
    versions = [entry.state.version for entry in await talk.history(KEY)]
    assert versions == sorted(versions, reverse=True)
    again = await talk.turn(KEY, "Wait instead.")
    assert again.turn == 3
    await talk.close()
