"""What every SessionLock promises."""

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.adapters.open_stores import Stores
from core.adapters.session_lock import InProcessSessionLock
from core.adapters.sqlite_database import SqliteDatabase
from core.adapters.sqlite_lock import SqliteSessionLock
from core.errors import SessionBusyError
from schemas.tenancy import SessionKey
from tests.contract.values import KEY, OTHER_SESSION, OTHER_USER
from tests.fakes.clock import FixedClock


async def test_turns_of_a_session_run_one_at_a_time_in_order(stores: Stores) -> None:
    running: list[int] = []
    finished: list[int] = []

    async def turn(number: int) -> None:
        async with stores.lock.hold(KEY, wait_s=30):
            running.append(number)
            assert len(running) == 1
            await asyncio.sleep(0)
            running.remove(number)
            finished.append(number)

    await asyncio.gather(*(turn(number) for number in range(6)))
    assert finished == [0, 1, 2, 3, 4, 5]


async def test_other_sessions_and_users_do_not_wait(stores: Stores) -> None:
    async with (
        stores.lock.hold(KEY, wait_s=0),
        stores.lock.hold(OTHER_SESSION, wait_s=0),
        stores.lock.hold(OTHER_USER, wait_s=0),
    ):
        pass


async def test_who_waits_too_long_is_told_that_the_session_is_busy(stores: Stores) -> None:
    async with stores.lock.hold(KEY, wait_s=0):
        with pytest.raises(SessionBusyError, match="'s-1' is still busy"):
            async with stores.lock.hold(KEY, wait_s=0.01):
                pytest.fail("two turns at once")
    async with stores.lock.hold(KEY, wait_s=0):
        pass


async def test_a_turn_that_fails_gives_the_session_back(stores: Stores) -> None:
    with pytest.raises(RuntimeError, match="boom"):
        async with stores.lock.hold(KEY, wait_s=0):
            raise RuntimeError("boom")
    async with stores.lock.hold(KEY, wait_s=0):
        pass


async def test_a_cancelled_waiter_leaves_the_queue(stores: Stores) -> None:
    async def wait() -> None:
        async with stores.lock.hold(KEY, wait_s=30):
            pytest.fail("it was cancelled")

    async with stores.lock.hold(KEY, wait_s=0):
        waiter = asyncio.create_task(wait())
        await asyncio.sleep(0)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
    async with stores.lock.hold(KEY, wait_s=0):
        pass


@pytest.mark.parametrize("steps", range(6))
async def test_a_waiter_that_is_cancelled_as_it_gets_the_session_is_cancelled(
    stores: Stores, steps: int
) -> None:
    async def wait() -> None:
        async with stores.lock.hold(KEY, wait_s=30):
            await asyncio.sleep(30)

    async with stores.lock.hold(KEY, wait_s=0):
        waiter = asyncio.create_task(wait())
        await asyncio.sleep(0)
    for _ in range(steps):
        await asyncio.sleep(0)
    waiter.cancel()
    await asyncio.wait({waiter}, timeout=3)
    assert waiter.cancelled()
    async with stores.lock.hold(KEY, wait_s=1):
        pass


async def test_locks_that_nobody_holds_take_no_memory() -> None:
    lock = InProcessSessionLock()
    for number in range(1_000):
        async with lock.hold(SessionKey("shop", "aiko", f"s-{number}"), wait_s=0):
            assert len(lock) == 1
    assert len(lock) == 0


async def test_event_loops_of_other_threads_wait_too(stores: Stores) -> None:
    order: list[str] = []

    async def other_loop() -> None:
        async with stores.lock.hold(KEY, wait_s=30):
            order.append("other")

    with ThreadPoolExecutor(1) as pool:
        async with stores.lock.hold(KEY, wait_s=0):
            waiting = pool.submit(asyncio.run, other_loop())
            await asyncio.sleep(0.05)
            order.append("first")
        await asyncio.wrap_future(waiting)
    assert order == ["first", "other"]


async def test_another_process_waits_for_the_lease(tmp_path: Path, clock: FixedClock) -> None:
    # Two databases on one file share nothing but the file, as two processes do.
    one, two = SqliteDatabase(tmp_path / "m.db"), SqliteDatabase(tmp_path / "m.db")
    async with SqliteSessionLock(one, clock).hold(KEY, wait_s=0):
        with pytest.raises(SessionBusyError):
            async with SqliteSessionLock(two, clock).hold(KEY, wait_s=0.02):
                pytest.fail("two turns at once")
    async with SqliteSessionLock(two, clock).hold(KEY, wait_s=0):
        pass
    await one.close()
    await two.close()


async def test_the_lease_of_a_dead_process_of_another_machine_expires(
    tmp_path: Path, clock: FixedClock
) -> None:
    dead, alive = SqliteDatabase(tmp_path / "m.db"), SqliteDatabase(tmp_path / "m.db")
    elsewhere = "elsewhere.example#1|7|1"
    held = SqliteSessionLock(dead, clock, process=elsewhere).hold(KEY, wait_s=0)
    await held.__aenter__()
    with pytest.raises(SessionBusyError):
        async with SqliteSessionLock(alive, clock).hold(KEY, wait_s=0):
            pytest.fail("the lease still runs")
    clock.advance(seconds=31)
    async with SqliteSessionLock(alive, clock).hold(KEY, wait_s=0):
        # The late return of the first owner must not take away what the second one holds.
        await held.__aexit__(None, None, None)
        with pytest.raises(SessionBusyError):
            async with SqliteSessionLock(dead, clock).hold(KEY, wait_s=0):
                pytest.fail("taken twice")
    await dead.close()
    await alive.close()


async def test_a_long_turn_keeps_its_lease(tmp_path: Path, clock: FixedClock) -> None:
    one, two = SqliteDatabase(tmp_path / "m.db"), SqliteDatabase(tmp_path / "m.db")
    async with SqliteSessionLock(one, clock, lease_s=0.3).hold(KEY, wait_s=0):
        for _ in range(3):
            renewed = clock.advance(seconds=0.2).timestamp() + 0.3
            for _ in range(1_000):
                if await two.read(_lease_end) >= renewed:
                    break
                await asyncio.sleep(0.01)
        with pytest.raises(SessionBusyError):
            async with SqliteSessionLock(two, clock).hold(KEY, wait_s=0):
                pytest.fail("the lease was renewed")
    await one.close()
    await two.close()


def _lease_end(connection: sqlite3.Connection) -> float:
    end: float = connection.execute("SELECT expires_at FROM leases").fetchone()[0]
    return end
