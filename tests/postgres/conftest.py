"""A clean database, and stores over it as another process would open them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from config import Settings
from core.adapters.open_stores import Stores, open_stores
from tests.fakes.clock import FixedClock
from tests.fakes.postgres_server import PostgresServer


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.clean_database()


@pytest.fixture
async def stores(url: str) -> AsyncIterator[Stores]:
    opened = open_for(url)
    yield opened
    await opened.close()


def open_for(url: str, **settings: Any) -> Stores:
    return open_stores(Settings(store="postgres", database_url=url, **settings), FixedClock())
