"""Throttle of learning jobs: turns have priority, and each hour has a token budget."""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress

from acc_ace.clock import Clock
from acc_ace.container import LoadMonitor
from acc_ace.core.schemas.learning_job import Attempt
from acc_ace.core.schemas.limits import BackgroundLimits
from acc_ace.errors import StoreError
from acc_ace.ext.background.dbos_queue import DbosLearningQueue
from acc_ace.ext.background.learning_budget import HOUR, budget_wait_s

logger = logging.getLogger(__name__)

_LOOK_S = 0.5
"""Polling interval while a job waits for capacity."""

_KNOWN_S = 2.0
"""Time to live of the cached token count; other processes spend tokens too."""


class Throttle:
    """Gate before every attempt of a job. For use on one event loop."""

    def __init__(
        self,
        queue: DbosLearningQueue,
        limits: BackgroundLimits,
        pressure: LoadMonitor,
        clock: Clock,
    ) -> None:
        self._queue, self._limits = queue, limits
        self._pressure, self._clock = pressure, clock
        self._spent: Sequence[Attempt] = ()
        self._spent_at = float("-inf")

    async def acquire(self, ending: asyncio.Event) -> None:
        """Wait for capacity. Raises CancelledError at shutdown: the job stays queued."""
        while True:
            if ending.is_set():
                raise asyncio.CancelledError
            wait_s = await self._wait_s()
            if wait_s <= 0:
                return
            await pause(min(wait_s, _LOOK_S), ending)

    def spent_more(self) -> None:
        """Invalidate the cached token count."""
        self._spent_at = float("-inf")

    async def _wait_s(self) -> float:
        limits, now = self._limits, self._clock.now()
        busy = self._pressure.wait_s(now, most_turns=limits.most_turns, quiet_s=limits.quiet_s)
        if busy or not limits.tokens_per_hour:
            return busy
        if time.monotonic() - self._spent_at > _KNOWN_S:
            try:
                self._spent = await self._queue.spent(now - HOUR)
            except StoreError as error:
                logger.warning("learning_budget_unknown code=%s", error.code)
                return _LOOK_S
            self._spent_at = time.monotonic()
        return budget_wait_s(self._spent, now, tokens_per_hour=limits.tokens_per_hour)


async def pause(seconds: float, ending: asyncio.Event) -> None:
    """Sleep, at most until `ending` is set."""
    with suppress(TimeoutError):
        await asyncio.wait_for(ending.wait(), timeout=seconds)
