"""Every store, in SQLite and in PostgreSQL; both must behave alike."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.sessions import BaseSessionService

from acc_ace.adk.sessions.create_session_service import open_session_service
from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.storage.create_stores import Stores, create_stores
from tests.fakes.clock import FixedClock
from tests.fakes.place import place

__all__ = ["place"]


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture(params=["sqlite", "postgres"])
def store_settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Where the stores are, empty."""
    where: dict[str, Any] = {"data_dir": tmp_path / "data"}
    if request.param == "postgres":
        where = {"database_url": request.getfixturevalue("postgres").clean_database()}
    return Settings(store=request.param, **where)


@pytest.fixture
async def stores(store_settings: Settings, clock: FixedClock) -> AsyncIterator[Stores]:
    opened = create_stores(store_settings, clock)
    yield opened
    await opened.close()


@pytest.fixture
async def other(
    stores: Stores, store_settings: Settings, clock: FixedClock
) -> AsyncIterator[Stores]:
    """The same stores as another process sees them."""
    opened = create_stores(store_settings, clock)
    yield opened
    await opened.close()


@pytest.fixture(params=["sqlite", "postgres"])
async def sessions(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock
) -> AsyncIterator[BaseSessionService]:
    """Our sessions; those in memory are ADK's own, and write nothing down."""
    where: dict[str, Any] = {"data_dir": tmp_path / "data"}
    if request.param == "postgres":
        where = {"database_url": request.getfixturevalue("postgres").clean_database()}
    container = build_container(Settings(store=request.param, **where), clock)
    yield open_session_service(container)
    await container.close()
