"""A lease of SQLite belongs to a process; whose process that is decides when it ends."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.adapters.process_identity import this_process
from core.adapters.sqlite_database import SqliteDatabase
from core.adapters.sqlite_lock import SqliteSessionLock
from core.errors import SessionBusyError
from tests.contract.values import KEY
from tests.fakes.clock import FixedClock

LEASE_S = 30
NOBODY = 2**22 + 5
"""A process id that no Linux gives."""


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    opened = SqliteDatabase(tmp_path / "m.db")
    yield opened
    await opened.close()


def here(pid: int) -> str:
    """A process of this machine and this namespace."""
    return f"{this_process().split('|')[0]}|{pid}|1"


def in_another_container(pid: int) -> str:
    """The same host name, and other process ids."""
    return f"{here(0).split('|')[0]}0|{pid}|1"


async def busy(lock: SqliteSessionLock) -> bool:
    try:
        async with lock.hold(KEY, wait_s=0):
            return False
    except SessionBusyError:
        return True


async def test_the_lease_of_a_process_that_ended_here_is_taken_at_once(
    database: SqliteDatabase, clock: FixedClock
) -> None:
    dead = SqliteSessionLock(database, clock, process=here(NOBODY))
    async with dead.hold(KEY, wait_s=0):
        assert not await busy(SqliteSessionLock(database, clock))


async def test_a_container_with_our_host_name_keeps_its_lease(
    database: SqliteDatabase, clock: FixedClock
) -> None:
    other = SqliteSessionLock(database, clock, process=in_another_container(NOBODY))
    async with other.hold(KEY, wait_s=0):
        assert await busy(SqliteSessionLock(database, clock))
        clock.advance(seconds=LEASE_S + 1)
        # Here nobody can know whether it is there, so only its lease counts.
        assert not await busy(SqliteSessionLock(database, clock))


@pytest.mark.parametrize("back_s", [3_600, 86_400, 400 * 86_400])
async def test_a_lease_left_behind_before_the_clock_was_set_back_lasts_one_lease(
    database: SqliteDatabase, clock: FixedClock, back_s: int
) -> None:
    vanished = SqliteSessionLock(database, clock, process="elsewhere.example#1|7|1")
    held = vanished.hold(KEY, wait_s=0)
    await held.__aenter__()
    clock.advance(seconds=-back_s)
    ours = SqliteSessionLock(database, clock)
    assert await busy(ours)
    clock.advance(seconds=LEASE_S - 1)
    assert await busy(ours)
    clock.advance(seconds=2)
    assert not await busy(ours)
    await held.__aexit__(None, None, None)
