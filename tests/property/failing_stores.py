"""Stores that fail at a chosen call, before or after it is done."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from acc_ace.container import Container
from acc_ace.errors import StoreError
from acc_ace.unit_of_work import UnitOfWork, Write

_STORES: Final = ("artifacts", "evidence", "journal", "directory", "erasure")


@dataclass(frozen=True)
class Fault:
    """A failure to come."""

    at: int
    """Calls that go well before it."""
    done: bool
    """What was called is done, only the word of it is lost."""
    how: Literal["fails", "dies", "is cut"]
    """By an error; with its process, whose later calls all fail; who waits for it is cancelled."""


class FailingStores:
    """Decides which call to the stores fails."""

    def __init__(self) -> None:
        self.hit = ""
        """The call that failed; empty while none has."""
        self.dead = False
        self._fault: Fault | None = None
        self._calls = 0

    def plan(self, fault: Fault | None) -> None:
        """Let a call fail, counted from now; with None no more."""
        self._fault, self._calls = fault, 0
        self.hit, self.dead = "", False

    def around(self, container: Container) -> Container:
        """The container with stores that fail."""
        wrapped: dict[str, Any] = {
            name: _FailingStore(name, getattr(container, name), self) for name in _STORES
        }
        return replace(
            container, unit_of_work=lambda: _FailingWork(container.unit_of_work(), self), **wrapped
        )

    async def call(self, name: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """Do what a store does, or fail."""
        if self.dead:
            raise StoreError(f"the process is dead at {name}")
        fault, due = self._fault, False
        if fault is not None:
            due = self._calls == fault.at
            self._calls += 1
        if fault is None or not due:
            return await work()
        self.hit, self.dead = name, fault.how == "dies"
        if fault.done:
            await work()
        if fault.how == "is cut" and (task := asyncio.current_task()) is not None:
            task.cancel()
            await asyncio.sleep(0)
        raise StoreError(f"no answer of {name}")


class _FailingWork:
    """A unit of work whose commit goes through FailingStores."""

    def __init__(self, work: UnitOfWork, failing: FailingStores) -> None:
        self._work, self._failing = work, failing

    def add(self, *writes: Write) -> None:
        self._work.add(*writes)

    async def commit(self) -> None:
        await self._failing.call("unit_of_work.commit", self._work.commit)


class _FailingStore:
    """A store whose calls go through FailingStores."""

    def __init__(self, name: str, store: object, failing: FailingStores) -> None:
        self._name, self._store, self._failing = name, store, failing

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not inspect.iscoroutinefunction(found):
            return found

        async def call(*args: Any, **options: Any) -> Any:
            where = f"{self._name}.{name}"
            return await self._failing.call(where, lambda: found(*args, **options))

        return call
