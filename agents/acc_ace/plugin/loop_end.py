"""Finish work before an event loop is closed, as `asyncio.run` does after it cancelled all tasks.

What a task begins when it is cancelled is begun too late for the loop to wait for it. What the loop
does wait for is the end of each asynchronous generator, so one is kept that ends with that work.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable


class LoopEnd:
    """Does `last` at the end of each event loop that was watched."""

    def __init__(self, last: Callable[[], Awaitable[None]]) -> None:
        self._last = last
        self._guards: dict[asyncio.AbstractEventLoop, AsyncGenerator[None, None]] = {}

    async def watch(self) -> None:
        """Watch the running loop, once."""
        loop = asyncio.get_running_loop()
        if loop in self._guards:
            return
        for ended in [each for each in self._guards if each.is_closed()]:
            del self._guards[ended]
        self._guards[loop] = guard = self._guard(loop)
        await anext(guard)

    async def _guard(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._guards.pop(loop, None)
            await self._last()
