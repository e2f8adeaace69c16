"""A clock that is set back damages nothing: turns, locks and staleness go on by what is sane."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from acc_ace.conversation import Conversation
from config import ROLES, Settings
from core.adapters.sqlite_database import SqliteDatabase
from core.adapters.sqlite_lock import SqliteSessionLock
from core.bootstrap import build_container
from core.errors import SessionBusyError
from schemas.interaction import Outcome
from tests.fakes.clock import FixedClock
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.talk import KEY, seen

BAN = "Never restart db-01."


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_a_conversation_goes_on_in_order_after_the_clock_was_set_back(
    store: str, tmp_path: Path
) -> None:
    clock, llm = FixedClock(), ScriptedLlm()
    container = build_container(Settings(store=store, data_dir=tmp_path), clock)
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


async def test_a_clock_set_back_lets_no_second_turn_in_and_its_lease_follows(
    tmp_path: Path,
) -> None:
    clock = FixedClock()
    one, two = SqliteDatabase(tmp_path / "m.db"), SqliteDatabase(tmp_path / "m.db")
    async with SqliteSessionLock(one, clock, lease_s=0.3).hold(KEY, wait_s=0):
        now = clock.advance(days=-1).timestamp()
        with pytest.raises(SessionBusyError):
            async with SqliteSessionLock(two, clock).hold(KEY, wait_s=0):
                pytest.fail("two turns at once")
        for _ in range(1_000):
            if await two.read(_lease_end) <= now + 0.3:
                break
            await asyncio.sleep(0.01)
        else:
            pytest.fail("the lease stayed a day ahead")
        with pytest.raises(SessionBusyError):
            async with SqliteSessionLock(two, clock).hold(KEY, wait_s=0):
                pytest.fail("two turns at once")
    async with SqliteSessionLock(two, clock).hold(KEY, wait_s=0):
        pass
    await one.close()
    await two.close()


def _lease_end(connection: sqlite3.Connection) -> float:
    end: float = connection.execute("SELECT expires_at FROM leases").fetchone()[0]
    return end
