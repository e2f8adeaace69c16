"""The memory behind the tools, opened when a tool is first called.

A client lists the tools before it calls one, and need not wait for stores and models.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, Final, Self

from acc_ace.cli.names import require_app
from acc_ace.config import Settings

if TYPE_CHECKING:
    from acc_ace.ext.mcp.user_memory import MemoryOfAll, UserMemory

CALLER: Final[ContextVar[str]] = ContextVar("caller")
"""The user of the request that is being answered, where the transport proves one."""


class LazyMemory:
    """Opens the stores of the settings once, for all callers."""

    def __init__(self, settings: Settings, *, app: str, user: str, session: str) -> None:
        """`user` is whose memory it is where no token says so."""
        self.settings, self._app, self._user, self._session = settings, app, user, session
        self._opening = asyncio.Lock()
        self._memory: MemoryOfAll | None = None

    @asynccontextmanager
    async def lifespan(self, _server: object) -> AsyncIterator[Self]:
        """The memory while the server runs; then its stores are closed."""
        try:
            yield self
        finally:
            if self._memory is not None:
                await self._memory.close()

    async def mine(self) -> "UserMemory":
        """The memory of the caller. Raises ConfigError, NotFoundError for the app, StoreError."""
        async with self._opening:
            if self._memory is None:
                self._memory = await self._open()
        return self._memory.of(self._app, CALLER.get(self._user), self._session)

    async def _open(self) -> "MemoryOfAll":
        # In a thread: the imports take a second, in which pings are answered.
        memory: MemoryOfAll = await asyncio.to_thread(_opened, self.settings)
        try:
            await require_app(memory.container.directory, self._app)
        except BaseException:
            await memory.close()
            raise
        return memory


def _opened(settings: Settings) -> "MemoryOfAll":
    memory: MemoryOfAll = import_module("acc_ace.ext.mcp.user_memory").MemoryOfAll(settings)
    return memory
