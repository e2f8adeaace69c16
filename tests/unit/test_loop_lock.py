"""One at a time among the tasks of an event loop, whichever loop that is."""

import asyncio

import pytest

from acc_ace.errors import StoreError
from acc_ace.storage.loop_lock import LoopLock


async def in_turn(lock: LoopLock) -> list[str]:
    """What two tasks do that want it at once."""
    seen: list[str] = []

    async def use(name: str) -> None:
        async with lock.hold():
            seen.append(f"{name} begins")
            await asyncio.sleep(0)
            seen.append(f"{name} ends")

    await asyncio.gather(use("one"), use("two"))
    return seen


def test_each_event_loop_has_one_of_its_own() -> None:
    lock = LoopLock("files", wait_s=10.0)
    for _ in range(2):
        assert asyncio.run(in_turn(lock)) == ["one begins", "one ends", "two begins", "two ends"]


async def test_waiting_for_too_long_is_an_error_that_leaves_the_lock() -> None:
    lock = LoopLock("the directory /data", wait_s=0.01)
    async with lock.hold():
        with pytest.raises(StoreError, match="the directory /data was in use"):
            async with lock.hold():
                pass
    assert len(await in_turn(lock)) == 4
