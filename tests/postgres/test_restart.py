"""PostgreSQL goes away under load and comes back: nothing is lost and nothing is doubled."""

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.adk.sessions import Session

from acc_ace.conversation import APP_NAME
from core.adapters.open_stores import Stores
from core.adapters.postgres_database import PostgresDatabase
from core.adapters.postgres_lock import PostgresSessionLock
from core.adapters.postgres_sessions import PostgresSessionService
from core.errors import SessionBusyError, StoreError
from schemas.tenancy import PlaybookScope, SessionKey
from tests.contract.values import KEY, entry
from tests.fakes.postgres_server import PostgresServer
from tests.postgres.conftest import open_for
from tests.postgres.processes import assert_whole, ended_well, output_of, talker

TURNS = 6
SESSIONS = ("s-1", "s-2", "s-3")


@pytest.fixture
def running(postgres: PostgresServer) -> Iterator[PostgresServer]:
    """The server, running again after a test that ended it."""
    yield postgres
    postgres.stop()
    postgres.start()


async def test_a_server_restarted_under_load_loses_and_doubles_nothing(
    running: PostgresServer, url: str, tmp_path: Path
) -> None:
    with (
        talker(url, tmp_path, "ann", TURNS, *SESSIONS) as one,
        talker(url, tmp_path, "ben", TURNS, *SESSIONS) as two,
    ):
        told = [output_of(one).readline(), output_of(two).readline()]
        for how in (signal.SIGQUIT, signal.SIGINT):  # A crash, then an orderly end.
            running.stop(how)
            running.start()
            told += [output_of(one).readline(), output_of(two).readline()]
        told += ended_well(one, two)
    assert len(told) == 2 * len(SESSIONS) * TURNS
    stores = open_for(url)
    for user in ("ann", "ben"):
        for session in SESSIONS:
            key = SessionKey(APP_NAME, user, session)
            await assert_whole(stores, key, TURNS)
            events = [event.author for event in (await _session(url, key)).events]
            assert events == ["user", "compressor", "generator"] * TURNS
    scope = PlaybookScope(APP_NAME)
    assert await stores.playbooks.replay(scope) == (await stores.playbooks.load(scope)).playbook
    await stores.close()


async def _session(url: str, key: SessionKey) -> Session:
    database = PostgresDatabase(url)
    found = await PostgresSessionService(database).get_session(
        app_name=key.app, user_id=key.user, session_id=key.session
    )
    await database.close()
    assert found is not None
    return found


async def test_stores_find_the_server_again(
    running: PostgresServer, url: str, stores: Stores
) -> None:
    await stores.journal.append(KEY, entry(1), expected_version=0)
    running.stop(signal.SIGQUIT)
    running.start()
    assert await stores.journal.head(KEY) == entry(1)
    await stores.journal.append(KEY, entry(2), expected_version=1)


async def test_a_server_that_stays_away_is_an_error_that_says_so(
    running: PostgresServer, url: str
) -> None:
    stores = open_for(url, database_wait_s=0.1)
    await stores.journal.append(KEY, entry(1), expected_version=0)
    running.stop()
    with pytest.raises(StoreError, match=r"PostgreSQL at 127\.0\.0\.1:\d+/\w+ cannot be reached"):
        await stores.journal.append(KEY, entry(2), expected_version=1)
    with pytest.raises(StoreError, match="start it, or correct ACC_ACE_DATABASE_URL"):
        async with stores.lock.hold(KEY, wait_s=0):
            pytest.fail("there is nobody to lock")
    running.start()
    assert await stores.journal.head(KEY) == entry(1)
    async with stores.lock.hold(KEY, wait_s=0):
        pass
    await stores.close()


async def test_a_lock_held_through_a_restart_is_taken_again(
    running: PostgresServer, url: str
) -> None:
    database = PostgresDatabase(url)
    lock, other = PostgresSessionLock(database, beat_s=0.05), PostgresSessionLock(database)
    async with lock.hold(KEY, wait_s=0):
        running.stop(signal.SIGQUIT)
        running.start()
        for _ in range(600):
            rows = running.execute(
                "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted", url=url
            )
            if rows:
                break
            await asyncio.sleep(0.05)
        with pytest.raises(SessionBusyError):
            async with other.hold(KEY, wait_s=0):
                pytest.fail("it was not taken again")
    async with other.hold(KEY, wait_s=0):
        pass
    await lock.close()
    await other.close()
    await database.close()
