"""The memory behind the tools, opened when a tool is first called.

A client lists the tools before it calls one, and need not wait for stores and models.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, Final, Self, TypeVar

from acc_ace.cli.names import require_app
from acc_ace.config import Settings
from acc_ace.errors import SessionBusyError

if TYPE_CHECKING:
    from acc_ace.ext.mcp.user_memory import MemoryOfAll, UserMemory

T = TypeVar("T")

# Texts of one user that are being kept at a time, whether or not their clients wait.
MOST_WRITES: Final = 16

# The user of the request that is being answered, '' where no token proves one.
CALLER: Final[ContextVar[str]] = ContextVar("caller", default="")


class LazyMemory:
    """Opens the stores of the settings once, for all callers."""

    def __init__(self, settings: Settings, *, app: str, user: str, session: str) -> None:
        """`user` is whose memory it is where no token says so."""
        self.settings, self._app, self._user, self._session = settings, app, user, session
        self._opening = asyncio.Lock()
        self._memory: MemoryOfAll | None = None
        self._writing = set[asyncio.Task[object]]()

    @asynccontextmanager
    async def lifespan(self, _server: object) -> AsyncIterator[Self]:
        """The memory while the server runs; then what is being kept, and its stores are closed."""
        try:
            yield self
        finally:
            if self._writing:
                await asyncio.wait(self._writing, timeout=self.settings.limits.shutdown_grace_s)
            if self._memory is not None:
                await self._memory.close()

    async def mine(self) -> "UserMemory":
        """The memory of the caller. Raises ConfigError, NotFoundError for the app, StoreError."""
        async with self._opening:
            if self._memory is None:
                self._memory = await self._open()
        return self._memory.of(self._app, self._caller(), self._session)

    async def finish(self, write: Coroutine[None, None, T]) -> T:
        """Do a write to its end, also when the client that sent it is gone meanwhile.

        Raises SessionBusyError when too many are under way, and what the write raises.
        """
        user = self._caller()
        if sum(task.get_name() == user for task in self._writing) >= MOST_WRITES:
            write.close()
            raise SessionBusyError(f"{MOST_WRITES} texts are being kept; send this one again later")
        task = asyncio.create_task(write, name=user)
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return await asyncio.shield(task)

    def _caller(self) -> str:
        return CALLER.get() or self._user

    async def _open(self) -> "MemoryOfAll":
        # In a thread: it takes a second, in which pings are answered.
        module = await asyncio.to_thread(import_module, "acc_ace.ext.mcp.user_memory")
        memory: MemoryOfAll = module.MemoryOfAll(self.settings)
        try:
            await require_app(memory.container.directory, self._app)
        except BaseException:
            await memory.close()
            raise
        return memory
