"""A server that goes silent is an error, or another connection; nothing waits for ever."""

import asyncio
import threading
from collections.abc import Awaitable

import psycopg
import pytest

from acc_ace.errors import SessionBusyError, StoreError
from acc_ace.ext.postgres.database import PostgresDatabase
from acc_ace.ext.postgres.session_locks import PostgresSessionLock
from acc_ace.storage.sql_journal import SqlJournal
from acc_ace.storage.sql_rows import Rows
from schemas.base import SessionKey
from tests.contract.values import KEY, entry
from tests.fakes.postgres_server import PostgresServer
from tests.fakes.stalling_proxy import StallingProxy

WAIT_S = 1.0

STATEMENT_S = 0.5
"""How long a statement may take here; silence is borne for some seconds more."""


def through(proxy: StallingProxy, url: str, *, connections: int = 8) -> PostgresDatabase:
    return PostgresDatabase(
        proxy.url(url), connections=connections, wait_s=WAIT_S, statement_s=STATEMENT_S
    )


@pytest.mark.soak
async def test_a_server_behind_a_stalled_proxy_is_named_with_the_setting(
    postgres: PostgresServer, url: str, proxy: StallingProxy
) -> None:
    database = through(proxy, url)
    journal, lock = SqlJournal(database), PostgresSessionLock(database)
    await journal.append(KEY, entry(1), expected_version=0)
    proxy.stall(dead=True)
    waiting: tuple[Awaitable[object], ...] = (
        journal.head(KEY),
        journal.append(KEY, entry(2), expected_version=1),
        lock.hold(KEY, wait_s=0).__aenter__(),
    )
    for work in waiting:
        with pytest.raises(StoreError) as caught:
            await work
        text = str(caught.value)
        assert text.startswith("PostgreSQL at 127.0.0.1:")
        assert "does not answer" in text
        assert "ACC_ACE_DATABASE_WAIT_S" in text
        assert postgres.password not in text
    proxy.recover()
    assert await journal.head(KEY) == entry(1)
    await journal.append(KEY, entry(2), expected_version=1)
    await lock.close()
    await database.close()


async def test_a_transaction_cut_off_in_the_middle_leaves_nothing_and_is_run_again(
    postgres: PostgresServer, url: str, proxy: StallingProxy
) -> None:
    database = PostgresDatabase(proxy.url(url), wait_s=30, statement_s=STATEMENT_S)
    await database.check()
    postgres.execute("CREATE TABLE acc_ace.numbers (number integer PRIMARY KEY)", url=url)
    runs = 0

    def work(rows: Rows) -> None:
        nonlocal runs
        runs += 1
        rows.run("INSERT INTO numbers VALUES (?)", (runs,))
        if runs == 1:
            proxy.stall()

    await database.write(work)
    assert runs == 2
    assert postgres.execute("SELECT number FROM acc_ace.numbers", url=url) == [(2,)]
    await database.close()


@pytest.mark.soak
async def test_no_thread_is_left_waiting_for_a_silent_server(
    url: str, proxy: StallingProxy
) -> None:
    before = set(threading.enumerate())
    database = through(proxy, url)
    await asyncio.gather(*(database.check() for _ in range(8)))
    proxy.stall(dead=True)
    results = await asyncio.gather(*(database.check() for _ in range(16)), return_exceptions=True)
    assert {type(result) for result in results} == {StoreError}
    await database.close()
    left = set(threading.enumerate()) - before
    assert [thread.name for thread in left if thread.name.startswith("postgres")] == []


@pytest.mark.soak
async def test_whoever_queues_for_a_silent_server_waits_no_longer_than_the_first(
    url: str, proxy: StallingProxy
) -> None:
    journal = SqlJournal(database := through(proxy, url, connections=1))
    assert await journal.head(KEY) is None
    proxy.stall(dead=True)
    keys = [SessionKey("shop", "aiko", f"s-{number}") for number in range(50)]
    # One after the other they would take fifty times as long as the test may.
    results = await asyncio.gather(*(journal.head(key) for key in keys), return_exceptions=True)
    assert {type(result) for result in results} == {StoreError}
    proxy.recover()
    assert await journal.head(KEY) is None
    await database.close()


@pytest.mark.soak
async def test_a_turn_keeps_its_session_over_a_new_connection(
    url: str, proxy: StallingProxy
) -> None:
    """The server takes the silent connection for alive, with the lock of the session."""
    far, near = through(proxy, url), PostgresDatabase(url)
    ours, theirs = PostgresSessionLock(far), PostgresSessionLock(near)
    async with ours.hold(KEY, wait_s=0):
        proxy.stall()
        async with ours.hold(KEY._replace(session="s-2"), wait_s=0):
            with pytest.raises(SessionBusyError):
                async with theirs.hold(KEY, wait_s=0):
                    pytest.fail("two processes hold the session")
    async with theirs.hold(KEY, wait_s=0):
        pass
    for closing in (ours, theirs, far, near):
        await closing.close()


@pytest.mark.soak
async def test_a_turn_that_ends_while_it_is_cut_off_leaves_no_lock_behind(
    url: str, proxy: StallingProxy
) -> None:
    far, near = through(proxy, url), PostgresDatabase(url)
    ours, theirs = PostgresSessionLock(far), PostgresSessionLock(near)
    async with ours.hold(KEY, wait_s=0):
        proxy.stall()
    async with ours.hold(KEY, wait_s=0):
        pass
    async with theirs.hold(KEY, wait_s=0):
        pass
    for closing in (ours, theirs, far, near):
        await closing.close()


async def test_the_network_itself_is_told_how_long_to_try(url: str) -> None:
    database = PostgresDatabase(url, wait_s=WAIT_S)
    connection = await asyncio.to_thread(database.connect)
    parameters = connection.info.get_parameters()
    assert {"connect_timeout", "keepalives_idle", "tcp_user_timeout"} <= set(parameters)
    assert connection.info.status is psycopg.pq.ConnStatus.OK
    connection.close()
    await database.close()


async def test_the_server_ends_a_statement_that_takes_too_long(url: str) -> None:
    database = PostgresDatabase(url, statement_s=STATEMENT_S)
    with pytest.raises(StoreError, match="took too long; try again"):
        await database.read(lambda rows: rows.all("SELECT pg_sleep(60)"))
    await database.close()
