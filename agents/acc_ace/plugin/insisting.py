"""Bring work to its end when the event loop ends: `asyncio.run` cancels all tasks, and waits."""

import asyncio
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")


async def outlast(event: asyncio.Event, is_waited_for: Callable[[], bool]) -> None:
    """Wait for an event, also when that is cancelled while the event is still to be waited for."""
    while not event.is_set():
        try:
            await event.wait()
        except asyncio.CancelledError:
            _overlook()
            if not is_waited_for():
                return


async def insist(step: Callable[[], Awaitable[T]]) -> T:
    """Do a step that may be done twice, and once more when it was cancelled meanwhile."""
    try:
        return await step()
    except asyncio.CancelledError:
        _overlook()
        return await step()


def begun(work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
    """Work for a new task, which a cancellation before its first step does not undo.

    Such a task would end without a line of its work done.
    """
    waiting = _past_the_begin(work)
    waiting.send(None)
    return waiting


async def _past_the_begin(work: Coroutine[Any, Any, T]) -> T:
    try:
        await _first_step()
    except asyncio.CancelledError:
        _overlook()
    return await work


@types.coroutine
def _first_step() -> Generator[None, None, None]:
    yield


def _overlook() -> None:
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
