"""The turns in flight, so that a shutdown can finish or undo each of them."""

import asyncio

from acc_ace.errors import SessionBusyError


class RunningTurns:
    """Admits turns until told to drain."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._draining = False

    def admit(self) -> None:
        """Raises SessionBusyError once the process is shutting down."""
        if self._draining:
            raise SessionBusyError("the server is shutting down; send the turn again in a moment")

    def add(self, task: "asyncio.Task[None]") -> None:
        """Follow a turn until it ends."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self, grace_s: float) -> None:
        """Admit no more; wait at most `grace_s` seconds, then cancel what still runs."""
        self._draining = True
        if not self._tasks:
            return
        _, late = await asyncio.wait(set(self._tasks), timeout=grace_s)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
