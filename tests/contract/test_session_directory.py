"""What every SessionDirectory promises."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from acc_ace import Container, build_container
from acc_ace.core.schemas.session import ReadThrough
from acc_ace.storage.sqlite.database import DATABASE_FILE
from config import Settings
from schemas.base import SessionKey
from tests.contract.values import KEY, OTHER_SESSION, OTHER_USER
from tests.fakes.clock import START, FixedClock
from tests.fakes.residue_postgres import SCHEMA


def later(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


@pytest.fixture(params=["sqlite", "postgres"])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Container]:
    settings = Settings(store=request.param, data_dir=tmp_path / "data")
    if request.param == "postgres":
        url = request.getfixturevalue("postgres").clean_database()
        settings = Settings(store="postgres", database_url=url)
    opened = build_container(settings, FixedClock())
    yield opened
    await opened.close()


async def test_a_session_is_created_once_and_then_found(stores: Container) -> None:
    assert await stores.directory.find(KEY) is None
    await stores.directory.open(KEY, at=START)
    again = await stores.directory.open(KEY, at=START + later(5))
    assert (again.created_at, again.active_at) == (START, START + later(5))
    assert await stores.directory.find(KEY) == again
    assert await stores.directory.find(OTHER_USER) is None


async def test_a_clock_that_runs_backwards_makes_no_session_younger(stores: Container) -> None:
    await stores.directory.open(KEY, at=START)
    record = await stores.directory.open(KEY, at=START - later(60))
    assert record.active_at == START


async def test_pages_give_every_session_once_the_most_recent_first(stores: Container) -> None:
    for number in range(7):
        key = KEY._replace(session=f"s{number}")
        # Two at a time, so that ties are paged over too.
        await stores.directory.open(key, at=START + later(number // 2))
    await stores.directory.open(OTHER_USER, at=START)
    seen: list[str] = []
    before: str | None = None
    while page := await stores.directory.list(KEY.tenant, limit=3, before=before):
        seen += [record.session for record in page]
        before = page[-1].session
    assert seen == ["s6", "s5", "s4", "s3", "s2", "s1", "s0"]


async def test_idle_sessions_are_those_with_words_not_offloaded(stores: Container) -> None:
    for number, key in enumerate((KEY, OTHER_SESSION, OTHER_USER)):
        await stores.directory.open(key, at=START + later(number))
    await stores.directory.offloaded(KEY, at=START + later(9), notes=["n1"])
    since = START + later(2)
    assert await taken(stores, since) == [OTHER_SESSION]
    await stores.directory.open(KEY, at=START + later(20))
    assert await taken(stores, START + later(90)) == [OTHER_USER, KEY, OTHER_SESSION]


async def test_a_deleted_session_is_gone_but_for_notes_kept_with_consent(
    stores: Container,
) -> None:
    for key in (KEY, OTHER_SESSION):
        await stores.directory.open(key, at=START)
        await stores.directory.offloaded(key, at=START, notes=["n1"])
    await stores.directory.delete(KEY, at=START, keep_notes=True)
    await stores.directory.delete(OTHER_SESSION, at=START, keep_notes=False)
    assert await stores.directory.find(KEY) is None
    [left] = await stores.directory.list(KEY.tenant)
    assert (left.session, left.notes) == (KEY.session, ["n1"])
    assert await taken(stores, START + later(9)) == []
    started = await stores.directory.open(KEY, at=START + later(1))
    assert (started.created_at, started.notes) == (START + later(1), ["n1"])


async def test_notes_that_a_deleted_session_left_outlive_the_next_one_of_its_name(
    stores: Container,
) -> None:
    await stores.directory.open(KEY, at=START)
    await stores.directory.offloaded(KEY, at=START, notes=["n1", "n2"])
    await stores.directory.delete(KEY, at=START, keep_notes=True)
    await stores.directory.open(KEY, at=START + later(1))
    await stores.directory.offloaded(KEY, at=START + later(1), notes=["n2", "n3"])
    for _ in range(2):  # Doing it again, as after an answer that was lost, changes nothing.
        await stores.directory.delete(KEY, at=START + later(2), keep_notes=False)
        [left] = await stores.directory.list(KEY.tenant)
        assert (left.notes, left.deleted_at) == (["n1", "n2"], START + later(2))
    assert await stores.directory.find(KEY) is None


async def test_erase_takes_the_sessions_of_one_user(stores: Container) -> None:
    for key in (KEY, OTHER_SESSION, OTHER_USER):
        await stores.directory.open(key, at=START)
    assert sorted(await stores.directory.names(KEY.tenant)) == [KEY.session, OTHER_SESSION.session]
    assert await stores.directory.erase(KEY.tenant, OTHER_SESSION.session) == 1
    assert await stores.directory.names(KEY.tenant) == [KEY.session]
    assert await stores.directory.erase(KEY.tenant) == 1
    assert await stores.directory.list(KEY.tenant) == []
    assert await stores.directory.find(OTHER_USER) is not None


async def write(stores: Container, statement: str, *values: str) -> None:
    """Change rows behind the back of their store; `?` is a value."""
    settings = stores.settings
    if settings.database_url is not None:
        url = settings.database_url.get_secret_value()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"SET search_path = {SCHEMA}".encode())
            connection.execute(statement.replace("?", "%s").encode(), values)
        return
    with closing(sqlite3.connect(settings.data_dir / DATABASE_FILE)) as file, file:
        file.execute(statement, values)


async def test_notes_that_are_forgotten_are_no_longer_known(stores: Container) -> None:
    await stores.directory.open(KEY, at=START)
    await stores.directory.offloaded(KEY, at=START, notes=["n1", "n2", "n3"])
    await stores.database.write(
        stores.directory.restored_write(KEY, turn=2, history_from=None, notes=["n2", "unknown"])
    )
    record = await stores.directory.find(KEY)
    assert record is not None
    assert record.notes == ["n1", "n3"]
    assert await stores.directory.find(OTHER_USER) is None


async def test_how_far_a_session_was_offloaded_is_kept(stores: Container) -> None:
    await stores.directory.open(KEY, at=START)
    through = ReadThrough(turn=7, invocation_id="i-7")
    await stores.directory.offloaded(KEY, at=START, notes=["n1", "n2"], through=through)
    await stores.directory.offloaded(KEY, at=START, notes=["n3", "n1"])
    record = await stores.directory.open(KEY, at=START + later(1))
    assert record.offloaded_through == through
    assert record.notes == ["n2", "n3", "n1"]


async def test_every_idle_session_is_taken_once_the_oldest_first(stores: Container) -> None:
    keys = [KEY._replace(session=f"s{number}") for number in range(7)]
    for number, key in enumerate(keys):
        # Two at a time, so that ties are broken too.
        await stores.directory.open(key, at=START + later(number // 2))
    assert await taken(stores, START + later(9)) == keys


async def test_an_idle_session_is_taken_by_one_until_it_is_due_again_or_changes(
    stores: Container,
) -> None:
    await stores.directory.open(KEY, at=START)
    since = [START + later(seconds) for seconds in (10, 69, 71)]
    assert [await taken(stores, each) for each in since] == [[KEY], [], [KEY]]
    work = stores.unit_of_work()
    work.add(stores.directory.reset_write(KEY, turn=0))
    await work.commit()
    assert await taken(stores, START + later(72)) == [KEY]
    await stores.directory.open(KEY, at=START + later(90))
    assert await taken(stores, START + later(80)) == []


async def test_of_two_processes_one_takes_an_idle_session(stores: Container) -> None:
    await stores.directory.open(KEY, at=START)
    since = START + later(10)
    both = await asyncio.gather(
        *(stores.directory.take_idle("shop", since=since, retry_s=60) for _ in range(2))
    )
    assert sorted(both, key=bool) == [None, KEY]


async def taken(stores: Container, since: datetime) -> list[SessionKey]:
    """The sessions to offload that were idle then; each is taken for a minute."""
    found: list[SessionKey] = []
    while key := await stores.directory.take_idle("shop", since=since, retry_s=60):
        found.append(key)
    return found
