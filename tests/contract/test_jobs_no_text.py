"""A job in SQLite whose text is no UTF-8, as a failing disk may leave it."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from config import Settings
from core.adapters.sqlite_database import DATABASE_FILE
from core.bootstrap import build_container
from core.container import Container
from core.errors import CorruptStoreError
from tests.contract.test_session_directory import job, later
from tests.contract.values import KEY
from tests.fakes.clock import START, FixedClock

IN_A_VALUE = "UPDATE jobs SET body = CAST(replace(body, 'shop', x'ff') AS TEXT) WHERE id = 'first'"
IN_ALL = "UPDATE jobs SET body = CAST(x'ff' AS TEXT) WHERE id = 'first'"


@pytest.fixture(params=[IN_A_VALUE, IN_ALL], ids=["in a value", "in all"])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Container]:
    """Of two jobs the first is damaged."""
    opened = build_container(Settings(data_dir=tmp_path), FixedClock())
    for number, name in enumerate(("first", "second")):
        await opened.jobs.enqueue(job(name, at=number))
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as file, file:
        file.execute(request.param)
    yield opened
    await opened.close()


async def test_it_keeps_none_of_the_others_from_being_done(
    stores: Container, caplog: pytest.LogCaptureFixture
) -> None:
    claimed = [await stores.jobs.claim(now=START + later(9), lease_s=60) for _ in range(2)]
    assert [item.id if item else None for item in claimed] == ["second", None]
    assert "job_unreadable id=first" in caplog.text


async def test_it_is_passed_over_in_the_list_and_not_found(stores: Container) -> None:
    assert [item.id for item in await stores.jobs.list(KEY.tenant)] == ["second"]
    assert await stores.jobs.find("first") is None


async def test_it_is_named_when_its_failure_is_to_be_noted(stores: Container) -> None:
    with pytest.raises(CorruptStoreError, match="first"):
        await stores.jobs.fail("first", error="no reply", due_at=None)


async def test_it_is_replaced_when_it_is_asked_for(stores: Container) -> None:
    assert await stores.jobs.enqueue(job("first"))
    assert await stores.jobs.find("first") == job("first")


async def test_it_is_forgotten_when_it_is_done(stores: Container) -> None:
    await stores.jobs.finish("first")
    assert await stores.jobs.enqueue(job("first")), "it is not there any more"
