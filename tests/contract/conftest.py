"""Every store, once in memory and once in SQLite; both must behave alike."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from config import Settings
from core.adapters.open_stores import Stores, open_stores
from tests.fakes.clock import FixedClock


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture(params=["memory", "sqlite"])
async def stores(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock
) -> AsyncIterator[Stores]:
    opened = open_stores(Settings(store=request.param, data_dir=tmp_path / "data"), clock)
    yield opened
    await opened.close()
