"""What every SessionLock promises."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from acc_ace.errors import SessionBusyError
from acc_ace.storage.create_stores import Stores, create_stores
from acc_ace.storage.local_lock import FileSessionLock, InProcessSessionLock
from config import Settings
from schemas.base import SessionKey
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


async def test_another_process_waits(stores: Stores, other: Stores) -> None:
    async with stores.lock.hold(KEY, wait_s=0):
        with pytest.raises(SessionBusyError):
            async with other.lock.hold(KEY, wait_s=0.02):
                pytest.fail("two turns at once")
    async with other.lock.hold(KEY, wait_s=0):
        pass


async def test_a_process_that_was_killed_holds_nothing(store_settings: Settings) -> None:
    place = (
        str(store_settings.data_dir)
        if store_settings.database_url is None
        else store_settings.database_url.get_secret_value()
    )
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _HOLD, store_settings.store, place, stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    assert await child.stdout.readline() == b"held\n"
    stores = create_stores(store_settings, FixedClock())
    with pytest.raises(SessionBusyError):
        async with stores.lock.hold(KEY, wait_s=0):
            pytest.fail("the other process has it")
    child.kill()
    await child.wait()
    async with stores.lock.hold(KEY, wait_s=5):
        pass
    await stores.close()


async def test_locks_of_files_leave_no_file_and_name_nobody(tmp_path: Path) -> None:
    lock = FileSessionLock(tmp_path / "locks")
    async with lock.hold(KEY, wait_s=0):
        (held,) = (tmp_path / "locks").iterdir()
        assert KEY.user not in held.name
    assert list((tmp_path / "locks").iterdir()) == []


_HOLD = """
import asyncio, sys
from acc_ace.config import Settings
from acc_ace.clock import SystemClock
from acc_ace.storage.create_stores import create_stores
from tests.contract.values import KEY

async def hold():
    kind, place = sys.argv[1:]
    where = {"data_dir": place} if kind == "sqlite" else {"database_url": place}
    stores = create_stores(Settings(store=kind, **where), SystemClock())
    async with stores.lock.hold(KEY, wait_s=5):
        print("held", flush=True)
        await asyncio.sleep(60)

asyncio.run(hold())
"""
