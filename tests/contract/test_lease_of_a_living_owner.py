"""A lease of SQLite whose owner still runs on this machine, whatever the clock of the day says."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.adapters.lease_watch import WATCHED, Lease, LeaseWatch
from core.adapters.sqlite_database import SqliteDatabase
from core.adapters.sqlite_lock import SqliteSessionLock
from core.errors import SessionBusyError
from schemas.limits import Limits
from schemas.tenancy import SessionKey
from tests.contract.values import KEY
from tests.fakes.clock import FixedClock

LEASE_S = 30

MISSED_S = 20
"""Two renewals."""


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    opened = SqliteDatabase(tmp_path / "m.db")
    yield opened
    await opened.close()


class Stopwatch:
    """A monotonic clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


async def busy(lock: SqliteSessionLock) -> bool:
    try:
        async with lock.hold(KEY, wait_s=0):
            return False
    except SessionBusyError:
        return True


async def test_a_clock_put_forward_lets_no_second_turn_in(
    database: SqliteDatabase, clock: FixedClock
) -> None:
    stopwatch = Stopwatch()
    waiting = SqliteSessionLock(database, clock, monotonic=stopwatch)
    async with SqliteSessionLock(database, clock).hold(KEY, wait_s=0):
        assert await busy(waiting)
        clock.advance(days=1)
        assert await busy(waiting)
        stopwatch.now += MISSED_S - 1
        assert await busy(waiting)


async def test_the_lease_of_an_owner_that_hangs_is_taken_once_it_was_seen_unrenewed(
    database: SqliteDatabase, clock: FixedClock
) -> None:
    stopwatch = Stopwatch()
    waiting = SqliteSessionLock(database, clock, monotonic=stopwatch)
    async with SqliteSessionLock(database, clock).hold(KEY, wait_s=0):
        assert await busy(waiting)
        clock.advance(seconds=LEASE_S)
        stopwatch.now += MISSED_S
        assert not await busy(waiting)


async def test_a_lease_that_is_never_given_back_ends_within_the_time_that_a_turn_waits(
    database: SqliteDatabase, clock: FixedClock
) -> None:
    assert Limits().turn_wait_s > MISSED_S
    stopwatch = Stopwatch()
    async with SqliteSessionLock(database, clock).hold(KEY, wait_s=0):
        await database.write(_refuse_deletes)
    clock.advance(seconds=LEASE_S - Limits().turn_wait_s)
    new_process = SqliteSessionLock(database, clock, monotonic=stopwatch)
    assert await busy(new_process)
    clock.advance(seconds=Limits().turn_wait_s)
    stopwatch.now += Limits().turn_wait_s - 1
    assert not await busy(new_process)


async def test_the_next_turn_of_the_process_gives_back_what_could_not_be(
    database: SqliteDatabase, clock: FixedClock
) -> None:
    lock = SqliteSessionLock(database, clock)
    async with lock.hold(KEY, wait_s=0):
        await database.write(_refuse_deletes)
    await database.write(_allow_deletes)
    async with lock.hold(KEY._replace(session="another"), wait_s=0):
        assert not await busy(SqliteSessionLock(database, clock))


async def test_a_renewal_begins_the_watch_anew(database: SqliteDatabase, clock: FixedClock) -> None:
    stopwatch = Stopwatch()
    waiting = SqliteSessionLock(database, clock, monotonic=stopwatch)
    async with SqliteSessionLock(database, clock).hold(KEY, wait_s=0):
        assert await busy(waiting)
        stopwatch.now += LEASE_S
        renewed = clock.advance(seconds=10).timestamp() + LEASE_S
        await database.write(lambda connection: _renew(connection, renewed))
        clock.advance(days=1)
        assert await busy(waiting)


async def test_a_lease_that_could_not_be_returned_keeps_its_own_process_out_of_nothing(
    database: SqliteDatabase, clock: FixedClock
) -> None:
    lock = SqliteSessionLock(database, clock)
    async with lock.hold(KEY, wait_s=0):
        await database.write(_refuse_deletes)
    await database.write(_allow_deletes)
    assert await busy(SqliteSessionLock(database, clock))
    assert not await busy(lock)


def test_leases_that_are_watched_are_bounded() -> None:
    stopwatch = Stopwatch()
    watch = LeaseWatch(stopwatch)
    lease = Lease("somebody", 60.0)
    for number in range(WATCHED + 1):
        watch.unrenewed_s(SessionKey("shop", "aiko", f"s-{number}"), lease)
    stopwatch.now += 1
    assert watch.unrenewed_s(SessionKey("shop", "aiko", f"s-{WATCHED}"), lease) == 1
    assert watch.unrenewed_s(SessionKey("shop", "aiko", "s-0"), lease) == 0


def _renew(connection: sqlite3.Connection, end: float) -> None:
    connection.execute("UPDATE leases SET expires_at = ?", (end,))


def _refuse_deletes(connection: sqlite3.Connection) -> None:
    connection.execute(
        "CREATE TRIGGER refuse BEFORE DELETE ON leases BEGIN SELECT RAISE(ABORT, 'refused'); END"
    )


def _allow_deletes(connection: sqlite3.Connection) -> None:
    connection.execute("DROP TRIGGER refuse")
