"""Every store, in memory, in SQLite and in PostgreSQL; all must behave alike."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from config import Settings
from core.adapters.open_stores import Stores, open_stores
from tests.fakes.clock import FixedClock


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def stores(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock
) -> AsyncIterator[Stores]:
    where: dict[str, Any] = {"data_dir": tmp_path / "data"}
    if request.param == "postgres":
        where = {"database_url": request.getfixturevalue("postgres").clean_database()}
    opened = open_stores(Settings(store=request.param, **where), clock)
    yield opened
    await opened.close()
