"""A clean database, and stores over it as another process would open them."""

import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from acc_ace.config import Settings
from acc_ace.storage.create_stores import Stores, create_stores
from tests.fakes.clock import FixedClock
from tests.fakes.postgres_server import PostgresServer
from tests.fakes.stalling_proxy import StallingProxy, stalling_proxy

NEVER_S = 60.0
"""What waits that long for a silent server hangs."""


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.clean_database()


@pytest.fixture
async def stores(url: str) -> AsyncIterator[Stores]:
    opened = open_for(url)
    yield opened
    await opened.close()


@pytest.fixture
def proxy(postgres: PostgresServer) -> Iterator[StallingProxy]:
    """A proxy before the server; a test that hangs behind it fails, and ends."""
    with stalling_proxy(postgres.port) as running:
        hung = threading.Event()

        def let_go() -> None:
            hung.set()
            running.close()

        timer = threading.Timer(NEVER_S, let_go)
        timer.start()
        yield running
        timer.cancel()
        assert not hung.is_set(), "work waited for a silent server without end"


def open_for(url: str, **settings: Any) -> Stores:
    return create_stores(Settings(store="postgres", database_url=url, **settings), FixedClock())
