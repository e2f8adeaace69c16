"""One turn of a session at a time: first in a queue of the event loop, then among all others.

Tasks of one event loop are served in the order in which they came. Whoever is first of them then
asks for the session where it is locked for everybody, again and again without blocking the loop.
"""

import asyncio
import hashlib
import json
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from weakref import WeakKeyDictionary, WeakValueDictionary

from filelock import FileLock, Timeout

from acc_ace.errors import SessionBusyError, StoreError
from acc_ace.schemas.base import SessionKey

_POLL_S = 0.05

_Queues = WeakValueDictionary[SessionKey, asyncio.Lock]


class QueuedSessionLock(ABC):
    """A queue for each session and event loop, before a lock that is taken or not at once."""

    def __init__(self) -> None:
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _Queues] = WeakKeyDictionary()

    @abstractmethod
    async def _take(self, key: SessionKey) -> bool:
        """Take the session among all who could hold it; False while somebody else does."""

    @abstractmethod
    async def _give_back(self, key: SessionKey) -> None:
        """Let others take the session. Raises nothing."""

    @asynccontextmanager
    async def hold(self, key: SessionKey, *, wait_s: float) -> AsyncIterator[None]:
        """Hold the session while the context is open; SessionBusyError after `wait_s` seconds."""
        deadline = asyncio.get_running_loop().time() + wait_s
        queue = self._queue(key)
        try:
            async with asyncio.timeout_at(deadline):
                await queue.acquire()
        except TimeoutError:
            raise busy(key, wait_s) from None
        try:
            await self._wait(key, deadline, wait_s)
            try:
                yield
            finally:
                await self._give_back(key)
        finally:
            queue.release()

    def __len__(self) -> int:
        """How many sessions are held or waited for now."""
        return sum(queue.locked() for queues in self._queues.values() for queue in queues.values())

    async def _wait(self, key: SessionKey, deadline: float, wait_s: float) -> None:
        loop = asyncio.get_running_loop()
        while not await self._take(key):
            left = deadline - loop.time()
            if left <= 0:
                raise busy(key, wait_s)
            await asyncio.sleep(min(_POLL_S, left))

    def _queue(self, key: SessionKey) -> asyncio.Lock:
        queues = self._queues.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
        return queues.setdefault(key, asyncio.Lock())


class InProcessSessionLock(QueuedSessionLock):
    """A SessionLock among the tasks and threads of one process."""

    def __init__(self) -> None:
        super().__init__()
        self._mutex = threading.Lock()
        self._held: set[SessionKey] = set()

    async def _take(self, key: SessionKey) -> bool:
        with self._mutex:
            if key in self._held:
                return False
            self._held.add(key)
            return True

    async def _give_back(self, key: SessionKey) -> None:
        with self._mutex:
            self._held.discard(key)


class FileSessionLock(QueuedSessionLock):
    """A SessionLock among the processes of one machine: a file for each session that is held.

    The kernel locks the file, and frees it when the process ends, however it ends.
    """

    def __init__(self, directory: Path) -> None:
        """Keep the files in `directory`, made at first use. Their names do not tell whose."""
        super().__init__()
        self._directory = directory
        self._held: dict[SessionKey, FileLock] = {}

    async def _take(self, key: SessionKey) -> bool:
        lock = FileLock(self._path(key), thread_local=False, mode=0o600)
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock.acquire(blocking=False)
        except Timeout:
            return False
        except OSError as error:
            raise StoreError(
                f"directory {self._directory} cannot be used for locks ({error.strerror}); make it "
                "writable, or set ACC_ACE_DATA_DIR to another directory"
            ) from error
        self._held[key] = lock
        return True

    async def _give_back(self, key: SessionKey) -> None:
        lock = self._held.pop(key)
        # Whoever waits for this very file sees that it has no name any more, and begins anew.
        self._path(key).unlink(missing_ok=True)
        lock.release()

    def _path(self, key: SessionKey) -> Path:
        return self._directory / f"{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]}.lock"


def busy(key: SessionKey, wait_s: float) -> SessionBusyError:
    """The error that says who is busy and what to do."""
    return SessionBusyError(
        f"session {key.session!r} is still busy with another turn after {wait_s:g} s; "
        "wait for its answer and send again"
    )
