"""Session locks: a FIFO queue per event loop in front of a try-lock shared by all holders.

Tasks of one event loop are served in order of arrival. The first of them then polls the shared
try-lock without blocking the loop.
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

from acc_ace.core.schemas.base import SessionKey
from acc_ace.errors import SessionBusyError, StoreError
from acc_ace.storage.private_files import make_private

_POLL_S = 0.05

_Queues = WeakValueDictionary[SessionKey, asyncio.Lock]


class QueuedSessionLock(ABC):
    """A FIFO queue per session and event loop, in front of a try-lock."""

    def __init__(self) -> None:
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _Queues] = WeakKeyDictionary()

    @abstractmethod
    async def _try_acquire(self, key: SessionKey) -> bool:
        """Try to lock the session; False while another holder has it."""

    @abstractmethod
    async def _release(self, key: SessionKey) -> None:
        """Unlock the session. Raises nothing."""

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
                await self._release(key)
        finally:
            queue.release()

    def __len__(self) -> int:
        """Number of sessions locked or waited for."""
        return sum(queue.locked() for queues in self._queues.values() for queue in queues.values())

    async def _wait(self, key: SessionKey, deadline: float, wait_s: float) -> None:
        loop = asyncio.get_running_loop()
        while not await self._try_acquire(key):
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
        self._locked: set[SessionKey] = set()

    async def _try_acquire(self, key: SessionKey) -> bool:
        with self._mutex:
            if key in self._locked:
                return False
            self._locked.add(key)
            return True

    async def _release(self, key: SessionKey) -> None:
        with self._mutex:
            self._locked.discard(key)


class FileSessionLock(QueuedSessionLock):
    """A SessionLock for the processes of one machine: one lock file per locked session.

    The kernel releases a file's lock when the process ends, for any reason.
    """

    def __init__(self, directory: Path) -> None:
        """Keep the files in `directory`, made at first use. File names do not identify users."""
        super().__init__()
        self._directory = directory
        self._locked: dict[SessionKey, FileLock] = {}

    async def _try_acquire(self, key: SessionKey) -> bool:
        lock = FileLock(self._path(key), thread_local=False, mode=0o600)
        try:
            make_private(self._directory)
            lock.acquire(blocking=False)
        except Timeout:
            return False
        except OSError as error:
            raise StoreError(
                f"directory {self._directory} cannot be used for locks ({error.strerror}); make it "
                "writable, or set ACC_ACE_DATA_DIR to another directory"
            ) from error
        self._locked[key] = lock
        return True

    async def _release(self, key: SessionKey) -> None:
        lock = self._locked.pop(key)
        # A waiter that has opened this file sees that it was unlinked, and retries.
        self._path(key).unlink(missing_ok=True)
        lock.release()

    def _path(self, key: SessionKey) -> Path:
        return self._directory / f"{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]}.lock"


def busy(key: SessionKey, wait_s: float) -> SessionBusyError:
    """The error for a busy session."""
    return SessionBusyError(
        f"session {key.session!r} is still busy with another turn after {wait_s:g} s; "
        "wait for its answer and send again"
    )
