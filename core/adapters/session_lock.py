"""One turn of a session at a time, within this process.

Tasks of different event loops and threads may wait for the same session; what a closed loop left
keeps nobody waiting. A lock exists only while somebody holds it or waits for it, so memory is
bounded by the running turns.
"""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from core.adapters.living_lock import LivingLock, Turn
from core.errors import SessionBusyError
from schemas.tenancy import SessionKey


class InProcessSessionLock:
    """A SessionLock among the tasks and threads of one process; first come, first served."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._locks: WeakValueDictionary[SessionKey, LivingLock] = WeakValueDictionary()

    @asynccontextmanager
    async def hold(self, key: SessionKey, *, wait_s: float) -> AsyncIterator[None]:
        """Hold the session while the context is open; SessionBusyError after `wait_s` seconds."""
        async with self.turn(key, wait_s=wait_s):
            yield

    @asynccontextmanager
    async def turn(self, key: SessionKey, *, wait_s: float) -> AsyncIterator[Turn]:
        """Hold the session as `hold` does, and know when the task that holds it is over."""
        is_held = False
        try:
            async with self._lock(key).hold(wait_s=wait_s) as turn:
                is_held = True
                yield turn
        except TimeoutError as error:
            if is_held:
                raise
            raise busy(key, wait_s) from error

    def __len__(self) -> int:
        """How many sessions are held now."""
        return len(self._locks)

    def _lock(self, key: SessionKey) -> LivingLock:
        with self._mutex:
            return self._locks.setdefault(key, LivingLock())


def busy(key: SessionKey, wait_s: float) -> SessionBusyError:
    """The error that says who is busy and what to do."""
    return SessionBusyError(
        f"session {key.session!r} is still busy with another turn after {wait_s:g} s; "
        "wait for its answer and send again"
    )
