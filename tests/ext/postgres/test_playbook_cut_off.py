"""A server that goes away in the middle of a delta: a clear error, and nothing has changed."""

import asyncio
import signal
from contextlib import closing

import psycopg
import pytest

from acc_ace.errors import StoreError
from tests.contract.playbooks import SHARED, add
from tests.ext.postgres.conftest import open_for
from tests.ext.postgres.waiting import somebody_waits
from tests.fakes.postgres_server import OwnPostgresServer


async def test_a_server_that_dies_within_a_delta_leaves_the_version_before_it(
    running: OwnPostgresServer,
) -> None:
    url = running.clean_database()
    # Patient enough to see a slow server through.
    stores = open_for(url)
    before = await add(stores, "one")
    # One that is lost is given up at once.
    impatient = open_for(url, database_wait_s=0)
    await impatient.playbooks.load(SHARED)
    # Another one holds the table that the delta writes last, so that it is under way for sure.
    with closing(psycopg.connect(url, options="-c search_path=acc_ace")) as blocker:
        blocker.execute("LOCK TABLE playbook_versions IN EXCLUSIVE MODE")
        delta = asyncio.create_task(add(impatient, "two"))
        await somebody_waits(running, url, delta)
        await asyncio.to_thread(running.stop, signal.SIGQUIT)
    with pytest.raises(StoreError, match=r"PostgreSQL at 127\.0\.0\.1:\d+/\w+ cannot be reached"):
        await delta

    await asyncio.to_thread(running.start)
    assert await stores.playbooks.load(SHARED) == before
    assert await stores.playbooks.replay(SHARED) == before.playbook
    assert len(await stores.playbooks.deltas(SHARED)) == 1
    assert (await add(stores, "two")).version == 2
    await impatient.close()
    await stores.close()
