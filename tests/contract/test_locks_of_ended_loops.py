"""An event loop that ends, as that of `asyncio.run` does, gives back the sessions it held."""

import asyncio

from acc_ace.container import Container
from tests.contract.values import KEY
from tests.fakes.place import Place, place

__all__ = ["place"]

STEPS = 8
"""Of the event loop, in which a session is given back."""


def test_another_process_has_the_session_when_the_loop_ends_while_it_is_given_back(
    place: Place,
) -> None:
    here, there = place.open(), place.open()
    for steps in range(STEPS):
        asyncio.run(_left(here, after=steps))
        asyncio.run(_held(there))
    asyncio.run(_closed(here, there))


async def _left(container: Container, *, after: int) -> None:
    """A turn has come to its end, and its loop ends some steps later."""
    ended = asyncio.Event()

    async def turn() -> None:
        async with container.lock.hold(KEY, wait_s=0):
            ended.set()

    running = asyncio.create_task(turn())
    await ended.wait()
    for _ in range(after):
        await asyncio.sleep(0)
    del running


async def _held(container: Container) -> None:
    async with container.lock.hold(KEY, wait_s=3):
        pass


async def _closed(*containers: Container) -> None:
    for container in containers:
        await container.close()
