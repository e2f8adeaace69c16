"""PostgreSQL goes away under load and comes back: nothing is lost and nothing is doubled."""

import asyncio
import signal
from pathlib import Path

import pytest
from google.adk.sessions import Session

from acc_ace import build_container
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.conversation import APP_NAME
from acc_ace.errors import ConflictError, SessionBusyError, StoreError
from acc_ace.ext.postgres.database import PostgresDatabase
from acc_ace.ext.postgres.session_locks import PostgresSessionLock
from acc_ace.storage.create_stores import Stores
from config import Settings
from schemas.base import PlaybookScope, SessionKey
from tests.contract.values import KEY, entry
from tests.durability.processes import assert_whole, ended_well, output_of, talker
from tests.durability.talker import conversation_of
from tests.ext.postgres.conftest import open_for
from tests.fakes.postgres_server import OwnPostgresServer
from tests.fakes.scripted_llm import ScriptedLlm, call

TURNS = 6
SESSIONS = ("s-1", "s-2", "s-3")


@pytest.fixture
def url(running: OwnPostgresServer) -> str:
    return running.clean_database()


@pytest.mark.soak
async def test_a_server_restarted_under_load_loses_and_doubles_nothing(
    running: OwnPostgresServer, url: str, tmp_path: Path
) -> None:
    with (
        talker(url, tmp_path, "ann", TURNS, *SESSIONS) as one,
        talker(url, tmp_path, "ben", TURNS, *SESSIONS) as two,
    ):
        reported = [output_of(one).readline(), output_of(two).readline()]
        for how in (signal.SIGQUIT, signal.SIGINT):  # A crash, then an orderly end.
            running.stop(how)
            running.start()
            reported += [output_of(one).readline(), output_of(two).readline()]
        reported += ended_well(one, two)
    assert len(reported) == 2 * len(SESSIONS) * TURNS
    stores = open_for(url)
    for user in ("ann", "ben"):
        for session in SESSIONS:
            key = SessionKey(APP_NAME, user, session)
            await assert_whole(stores, key, TURNS)
            events = [event.author for event in (await _session(url, key)).events]
            assert events == ["user", "generator"] * TURNS
    scope = PlaybookScope(APP_NAME)
    assert await stores.playbooks.replay(scope) == (await stores.playbooks.load(scope)).playbook
    await stores.close()


async def _session(url: str, key: SessionKey) -> Session:
    database = PostgresDatabase(url)
    found = await SqlSessionService(database).get_session(
        app_name=key.app, user_id=key.user, session_id=key.session
    )
    await database.close()
    assert found is not None
    return found


async def test_stores_find_the_server_again(
    running: OwnPostgresServer, url: str, stores: Stores
) -> None:
    await stores.journal.append(KEY, entry(1), expected_version=0)
    running.stop(signal.SIGQUIT)
    running.start()
    assert await stores.journal.head(KEY) == entry(1)
    await stores.journal.append(KEY, entry(2), expected_version=1)


async def restart(server: str) -> str:
    """Restart a server, and lose the database meanwhile."""
    await asyncio.to_thread(_STOPPED[-1].stop)
    return f"{server} restarted"


_STOPPED: list[OwnPostgresServer] = []


@pytest.mark.soak
async def test_a_turn_that_loses_the_server_while_a_tool_runs_is_none_and_its_call_is_reported(
    running: OwnPostgresServer, url: str
) -> None:
    _STOPPED.append(running)
    settings = Settings(
        store="postgres",
        database_url=url,
        database_wait_s=1,
        tools=["tests.ext.postgres.test_restart:restart"],
    )
    llm = ScriptedLlm().on(
        "generator",
        {"final_answer": "Noted."},
        call("restart", server="db-02"),
        {"final_answer": "Restarted."},
    )
    conversation = conversation_of(build_container(settings), llm)
    key = SessionKey(APP_NAME, "ops", "s-1")
    await conversation.turn(key, "The error rate is 4%.")
    before = await conversation.state(key)
    with pytest.raises(StoreError, match=r"PostgreSQL at .* cannot be reached"):
        await conversation.turn(key, "Restart db-02.")
    running.start()
    assert await conversation.state(key) == before
    session = await _session(url, key)
    assert [event.author for event in session.events] == ["user", "generator"]
    report = await conversation.turn(key, "Is it up?")
    assert report.turn == 2
    assert [each for each in report.warnings if "outcome unknown: restart(db-02)" in each]
    await conversation.close()


@pytest.mark.soak
async def test_a_server_that_stays_away_is_an_error_that_says_so(
    running: OwnPostgresServer, url: str
) -> None:
    stores = open_for(url, database_wait_s=3)
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


@pytest.mark.soak
async def test_a_lock_held_through_a_restart_is_taken_again(
    running: OwnPostgresServer, url: str
) -> None:
    database = PostgresDatabase(url)
    lock, other = PostgresSessionLock(database), PostgresSessionLock(database)
    async with lock.hold(KEY, wait_s=0):
        running.stop(signal.SIGQUIT)
        running.start()
        # The next turn of the process notices the loss.
        async with lock.hold(KEY._replace(session="another"), wait_s=0):
            with pytest.raises(SessionBusyError):
                async with other.hold(KEY, wait_s=0):
                    pytest.fail("it was not taken again")
    async with other.hold(KEY, wait_s=0):
        pass
    await lock.close()
    await other.close()
    await database.close()


async def test_a_session_lost_in_a_restart_lets_one_of_two_turns_commit(
    running: OwnPostgresServer, url: str
) -> None:
    here, there = open_for(url), open_for(url)
    async with here.lock.hold(KEY, wait_s=0):
        running.stop(signal.SIGQUIT)
        running.start()
        async with there.lock.hold(KEY, wait_s=0):
            await there.journal.append(KEY, entry(1, "theirs"), expected_version=0)
        with pytest.raises(ConflictError):
            await here.journal.append(KEY, entry(1, "ours"), expected_version=0)
    assert await here.journal.head(KEY) == entry(1, "theirs")
    await here.close()
    await there.close()
