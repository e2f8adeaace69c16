"""A server that goes away in the middle of a delta: a clear error, and nothing has changed."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from core.errors import StoreError
from tests.contract.playbooks import SHARED, add
from tests.fakes.postgres_server import PostgresServer
from tests.postgres.conftest import open_for

_TRIES = 6_000


@pytest.fixture
def running(postgres: PostgresServer) -> Iterator[PostgresServer]:
    """The server; it is running again after the test."""
    yield postgres
    postgres.stop()
    postgres.start()


async def test_a_server_that_dies_within_a_delta_leaves_the_version_before_it(
    running: PostgresServer, url: str
) -> None:
    stores = open_for(url, database_wait_s=0.1)
    before = await add(stores, "one")
    # Another one holds the row that the delta writes last, so that it is under way for sure.
    with closing(psycopg.connect(url, options="-c search_path=acc_ace")) as blocker:
        blocker.execute("LOCK TABLE playbook_versions IN EXCLUSIVE MODE")
        delta = asyncio.create_task(add(stores, "two"))
        for _ in range(_TRIES):
            if running.execute("SELECT 1 FROM pg_locks WHERE NOT granted", url=url):
                break
            await asyncio.sleep(0.01)
        running.stop(signal.SIGQUIT)
    with pytest.raises(StoreError, match=r"PostgreSQL at 127\.0\.0\.1:\d+/\w+ cannot be reached"):
        await delta

    running.start()
    assert await stores.playbooks.load(SHARED) == before
    assert await stores.playbooks.replay(SHARED) == before.playbook
    assert len(await stores.playbooks.deltas(SHARED)) == 1
    assert (await add(stores, "two")).version == 2
    await stores.close()
