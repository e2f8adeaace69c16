"""A session of which only the record is left: what every SessionDirectory makes of it."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from config import Settings
from core.bootstrap import build_container
from core.container import Container
from schemas.memory import Summary
from tests.contract.values import KEY
from tests.fakes.clock import START, FixedClock

LATER = START + timedelta(minutes=1)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Container]:
    settings = Settings(store=request.param, data_dir=tmp_path / "data")
    if request.param == "postgres":
        url = request.getfixturevalue("postgres").clean_database()
        settings = Settings(store="postgres", database_url=url)
    opened = build_container(settings, FixedClock())
    yield opened
    await opened.close()


@pytest.mark.parametrize(("keep_notes", "notes"), [(True, ["n1"]), (False, [])])
async def test_the_next_turn_begins_another_session_with_the_notes_that_are_left(
    stores: Container, *, keep_notes: bool, notes: list[str]
) -> None:
    directory = stores.directory
    await directory.open(KEY, at=START, memory="acc")
    await directory.offloaded(KEY, at=START, notes=["n1"])
    await directory.reset(KEY, turn=7)
    await directory.ended(KEY, keep_notes=keep_notes)
    left = await directory.find(KEY)
    assert left is not None
    assert left.created_at == START
    assert await directory.idle(KEY.app, since=LATER) == []
    begun = await directory.open(KEY, at=LATER, memory="acc")
    assert (begun.created_at, begun.history_from) == (LATER, 0)
    assert (begun.notes, begun.notes_left) == (notes, notes)


async def test_a_summary_of_deleted_turns_is_forgotten_also_one_in_the_making(
    stores: Container,
) -> None:
    await stores.directory.open(KEY, at=START, memory="summary")
    made = Summary(content="of old", through_turn=9, session_began=START, created_at=START)
    await stores.directory.summarise(KEY, made)
    await stores.directory.reset(KEY, turn=7)
    await stores.directory.unsummarise(KEY)
    await stores.directory.summarise(KEY, made)
    record = await stores.directory.find(KEY)
    assert record is not None
    assert (record.summary, record.history_from) == (None, 7)
    await stores.directory.unsummarise(KEY, history_from=0)
    record = await stores.directory.find(KEY)
    assert record is not None
    assert (record.summary, record.history_from) == (None, 0)


async def test_the_next_session_is_told_from_the_last_one_by_a_clock_that_stands(
    stores: Container,
) -> None:
    last = await stores.directory.open(KEY, at=START, memory="acc")
    await stores.directory.ended(KEY, keep_notes=False)
    begun = await stores.directory.open(KEY, at=START, memory="acc")
    assert begun.created_at > last.created_at


async def test_notes_of_a_deleted_session_stay_when_it_is_deleted_again(stores: Container) -> None:
    directory = stores.directory
    await directory.open(KEY, at=START, memory="acc")
    await directory.offloaded(KEY, at=START, notes=["n1"])
    await directory.delete(KEY, at=START, keep_notes=True)
    await directory.ended(KEY, keep_notes=False)
    [left] = await directory.list(KEY.tenant)
    assert left.notes == ["n1"]
