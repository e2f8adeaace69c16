"""Background work over one set of stores: one task at a time in each event loop."""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

_AT_WORK: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, asyncio.Task[Any]]]" = (
    WeakKeyDictionary()
)


def begin_work(
    over: object, work: Callable[[], Coroutine[Any, Any, T]]
) -> "asyncio.Task[T] | None":
    """Begin background work over some stores; None when such work is under way in this loop.

    The task inherits nothing of the turn that begins it, such as who listens to that.
    """
    at_work = _AT_WORK.setdefault(asyncio.get_running_loop(), {})
    if id(over) in at_work:
        return None
    task = asyncio.create_task(work(), context=Context())
    at_work[id(over)] = task

    def ended(_: "asyncio.Task[T]") -> None:
        # Holding on to what the work is over keeps its identity from being used again.
        at_work.pop(id(over), None)

    task.add_done_callback(ended)
    return task


def is_at_work(over: object) -> bool:
    """Whether such work over some stores is under way in this loop."""
    return id(over) in _AT_WORK.get(asyncio.get_running_loop(), {})
