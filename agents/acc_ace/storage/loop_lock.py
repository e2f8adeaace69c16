"""A lock for the tasks of each event loop of a process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from acc_ace.errors import StoreError


class LoopLock:
    """A lock of each event loop that uses it. Waiting for it takes no thread."""

    def __init__(self, what: str, *, wait_s: float) -> None:
        """`what` is locked, for the error of one that waited `wait_s` seconds in vain."""
        self._what, self._wait_s = what, wait_s
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Hold it while the context is open. Raises StoreError when others do for too long."""
        lock = self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())
        try:
            async with asyncio.timeout(self._wait_s):
                await lock.acquire()
        except TimeoutError:
            raise StoreError(
                f"{self._what} was in use by this process for {self._wait_s:g} s"
            ) from None
        try:
            yield
        finally:
            lock.release()
