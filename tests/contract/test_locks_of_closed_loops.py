"""A session that was held in an event loop which a program closed is had by the next turn."""

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config import Settings
from core.bootstrap import build_container
from core.container import Container
from core.errors import SessionBusyError
from schemas.tenancy import SessionKey
from tests.contract.values import KEY, OTHER_SESSION
from tests.fakes.place import Place, place

__all__ = ["place"]

pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning"
)

LEFT: "list[asyncio.Task[None]]" = []
"""Tasks that are in the middle of their work for ever, so that Python says nothing of their end."""

SOON_S = 5
"""Much less than a lease lasts."""


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Container]:
    where: dict[str, Any] = {}
    if request.param == "postgres":
        where["database_url"] = request.getfixturevalue("postgres").clean_database()
    opened = build_container(Settings(store=request.param, data_dir=tmp_path, **where))
    yield opened
    asyncio.run(closed(opened))


async def turn_without_end(container: Container, key: SessionKey, held: asyncio.Event) -> None:
    async with container.lock.hold(key, wait_s=0):
        held.set()
        await asyncio.Event().wait()


def left_holding(container: Container) -> "set[asyncio.Task[None]]":
    """The tasks of a turn whose loop was closed in the middle of it."""
    loop, held = asyncio.new_event_loop(), asyncio.Event()
    loop.create_task(turn_without_end(container, KEY, held))
    loop.run_until_complete(held.wait())
    tasks = asyncio.all_tasks(loop)
    loop.close()
    return tasks


async def hold(container: Container, key: SessionKey = KEY, *, wait_s: float = SOON_S) -> None:
    async with container.lock.hold(key, wait_s=wait_s):
        pass


def test_the_next_turn_of_the_session_has_it(here: Container) -> None:
    LEFT.extend(left_holding(here))
    for _ in range(2):
        asyncio.run(hold(here))


def test_the_next_turn_has_it_also_when_the_task_was_collected(here: Container) -> None:
    left_holding(here)
    gc.collect()
    asyncio.run(hold(here))


def test_who_waits_already_has_it_when_the_loop_is_closed(here: Container) -> None:
    loop, held = asyncio.new_event_loop(), asyncio.Event()
    LEFT.append(loop.create_task(turn_without_end(here, KEY, held)))
    loop.run_until_complete(held.wait())
    LEFT.extend(asyncio.all_tasks(loop))

    async def wait_for_it() -> None:
        waiting = asyncio.create_task(hold(here))
        await asyncio.sleep(0)
        loop.close()
        await waiting

    asyncio.run(wait_for_it())


def test_a_task_that_is_collected_late_takes_the_session_from_nobody(here: Container) -> None:
    tasks = left_holding(here)

    async def later() -> None:
        async with here.lock.hold(KEY, wait_s=SOON_S):
            tasks.clear()
            gc.collect()
            with pytest.raises(SessionBusyError):
                await hold(here, wait_s=0)

    asyncio.run(later())
    asyncio.run(hold(here))


def test_another_process_has_it_once_this_one_takes_a_session(place: Place) -> None:
    here, there = place.open(), place.open()
    LEFT.extend(left_holding(here))
    asyncio.run(hold(here, OTHER_SESSION))
    asyncio.run(hold(there))
    asyncio.run(closed(here, there))


async def closed(*containers: Container) -> None:
    for container in containers:
        await container.close()
