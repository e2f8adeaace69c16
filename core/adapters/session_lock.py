"""One turn of a session at a time, within this process.

Tasks of different event loops and threads may wait for the same session. A lock exists only
while somebody holds it or waits for it, so memory is bounded by the running turns.
"""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from core.errors import SessionBusyError
from schemas.tenancy import SessionKey


@dataclass(eq=False)
class _Waiter:
    loop: asyncio.AbstractEventLoop
    turn: asyncio.Event
    granted: bool = False


class InProcessSessionLock:
    """A SessionLock among the tasks and threads of one process; first come, first served."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._queues: dict[SessionKey, deque[_Waiter]] = {}

    @asynccontextmanager
    async def hold(self, key: SessionKey, *, wait_s: float) -> AsyncIterator[None]:
        """Hold the session while the context is open; SessionBusyError after `wait_s` seconds."""
        await self._acquire(key, wait_s)
        try:
            yield
        finally:
            self._release(key)

    def __len__(self) -> int:
        """How many sessions are held now."""
        return len(self._queues)

    async def _acquire(self, key: SessionKey, wait_s: float) -> None:
        with self._mutex:
            if key not in self._queues:
                self._queues[key] = deque()
                return
            waiter = _Waiter(asyncio.get_running_loop(), asyncio.Event())
            self._queues[key].append(waiter)
        try:
            await asyncio.wait_for(waiter.turn.wait(), timeout=wait_s)
        except BaseException as error:
            if self._give_up(key, waiter) and isinstance(error, TimeoutError):
                raise busy(key, wait_s) from error
            if isinstance(error, TimeoutError):
                return  # Granted at the last moment: the session is ours.
            if waiter.granted:
                self._release(key)
            raise

    def _give_up(self, key: SessionKey, waiter: _Waiter) -> bool:
        """Leave the queue; False when the lock was granted meanwhile."""
        with self._mutex:
            if waiter.granted:
                return False
            self._queues[key].remove(waiter)
            return True

    def _release(self, key: SessionKey) -> None:
        """Hand over to the first waiter whose event loop is alive, or forget the session."""
        with self._mutex:
            queue = self._queues[key]
            while queue:
                waiter = queue.popleft()
                waiter.granted = True
                try:
                    waiter.loop.call_soon_threadsafe(waiter.turn.set)
                except RuntimeError:  # Its loop is closed, so nobody waits there any more.
                    continue
                return
            del self._queues[key]


def busy(key: SessionKey, wait_s: float) -> SessionBusyError:
    """The error that says who is busy and what to do."""
    return SessionBusyError(
        f"session {key.session!r} is still busy with another turn after {wait_s:g} s; "
        "wait for its answer and send again"
    )
