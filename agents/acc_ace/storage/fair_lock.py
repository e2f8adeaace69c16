"""One at a time among the tasks of a process, of one event loop or of several."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from acc_ace.errors import StoreError

_LOOK_S = 1.0
"""How often one that waits looks whether the loop of the holder was closed."""


@dataclass(eq=False)
class Turn:
    """The turn of one task.

    `after_lost` when one before it never came to its end, until it has cleared up after that one.
    """

    loop: asyncio.AbstractEventLoop
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    after_lost: bool = False
    is_lost: bool = False

    @property
    def is_over(self) -> bool:
        """Whether its task will never go on."""
        return self.is_lost or self.loop.is_closed()

    @property
    def is_run(self) -> bool:
        """Whether its own event loop runs now, so that it may wait."""
        try:
            return asyncio.get_running_loop() is self.loop
        except RuntimeError:
            return False

    def is_collected(self, error: BaseException) -> bool:
        """Whether the task is being collected, so that it may wait for nothing."""
        return isinstance(error, GeneratorExit) or not self.is_run


class LivingLock:
    """First come, first served."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._holder: Turn | None = None
        self._waiting: deque[Turn] = deque()
        self._has_lost = False

    @asynccontextmanager
    async def hold(self, *, wait_s: float) -> AsyncIterator[Turn]:
        """Hold it while the context is open; TimeoutError after `wait_s` seconds."""
        turn = Turn(asyncio.get_running_loop())
        try:
            await self._begin(turn, wait_s)
            yield turn
        except BaseException as error:
            if turn.is_collected(error):
                self.lose(turn)
            else:
                self._end(turn)
            raise
        self._end(turn)

    def lose(self, turn: Turn, undo: Callable[[], None] | None = None) -> None:
        """Give up the turn of a task that is collected, after `undo` if it still has the lock.

        Waits for nothing: the interpreter collects within anything, and within this class too.
        """
        if not self._mutex.acquire(blocking=False):
            turn.is_lost = True
            return
        try:
            if undo is not None and self._holder is turn:
                undo()
            turn.is_lost = True
            self._pass_on()
        finally:
            self._mutex.release()

    async def _begin(self, turn: Turn, wait_s: float) -> None:
        with self._mutex:
            self._waiting.append(turn)
            self._pass_on()
        until = turn.loop.time() + wait_s
        while self._holder is not turn:
            if (left := until - turn.loop.time()) <= 0:
                raise TimeoutError
            try:
                # Not `wait_for`: in Python 3.11 it loses a cancel that comes with the lock.
                async with asyncio.timeout(min(_LOOK_S, left)):
                    await turn.begun.wait()
            except TimeoutError:
                with self._mutex:
                    self._pass_on()

    def _end(self, turn: Turn) -> None:
        with self._mutex:
            if self._holder is turn:
                # It may have ended before it could clear up.
                self._holder, self._has_lost = None, turn.after_lost
            elif turn in self._waiting:
                self._waiting.remove(turn)
            self._pass_on()

    def _pass_on(self) -> None:
        """Let the next begin whose task is alive, if nobody alive has the lock."""
        if self._holder is not None:
            if not self._holder.is_over:
                return
            self._holder, self._has_lost = None, True
        while self._waiting and self._holder is None:
            turn = self._waiting.popleft()
            if turn.is_over:
                continue
            try:
                turn.loop.call_soon_threadsafe(turn.begun.set)
            except RuntimeError:  # Its loop was closed just now.
                continue
            self._holder = turn
            turn.after_lost, self._has_lost = self._has_lost, False


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
