"""A server that goes silent is an error soon, or another connection; nothing waits for ever."""

import asyncio
import threading

import psycopg
import pytest

from core.adapters.postgres_database import PostgresDatabase
from core.adapters.postgres_schema import Connection
from core.errors import StoreError
from schemas.tenancy import SessionKey
from tests.contract.values import KEY, entry
from tests.fakes.postgres_server import PostgresServer
from tests.fakes.stalling_proxy import StallingProxy
from tests.postgres.conftest import open_for

PATIENCE_S = 1.0


async def test_a_server_behind_a_stalled_proxy_is_named_with_the_setting(
    postgres: PostgresServer, url: str, proxy: StallingProxy
) -> None:
    stores = open_for(proxy.url(url), database_wait_s=PATIENCE_S)
    await stores.journal.append(KEY, entry(1), expected_version=0)
    proxy.stall(dead=True)
    for work in (
        stores.journal.head(KEY),
        stores.journal.append(KEY, entry(2), expected_version=1),
        stores.lock.hold(KEY, wait_s=0).__aenter__(),
    ):
        with pytest.raises(StoreError) as caught:
            await work
        text = str(caught.value)
        assert text.startswith("PostgreSQL at 127.0.0.1:")
        assert "does not answer" in text
        assert "ACC_ACE_DATABASE_WAIT_S" in text
        assert postgres.password not in text
    proxy.recover()
    assert await stores.journal.head(KEY) == entry(1)
    await stores.journal.append(KEY, entry(2), expected_version=1)
    await stores.close()


async def test_a_connection_that_went_silent_is_replaced_and_the_work_done(
    url: str, proxy: StallingProxy
) -> None:
    stores = open_for(proxy.url(url), database_wait_s=PATIENCE_S)
    await stores.journal.append(KEY, entry(1), expected_version=0)
    proxy.stall()
    assert await stores.journal.head(KEY) == entry(1)
    proxy.stall()
    await stores.journal.append(KEY, entry(2), expected_version=1)
    await stores.close()


async def test_a_transaction_cut_off_in_the_middle_leaves_nothing_and_blocks_nobody(
    postgres: PostgresServer, url: str, proxy: StallingProxy
) -> None:
    database = PostgresDatabase(proxy.url(url), patience_s=PATIENCE_S)
    await database.check()
    postgres.execute("CREATE TABLE acc_ace.numbers (number integer PRIMARY KEY)", url=url)
    postgres.execute("INSERT INTO acc_ace.numbers VALUES (1)", url=url)
    runs = 0

    def work(connection: Connection) -> None:
        nonlocal runs
        runs += 1
        connection.execute("SELECT FROM numbers WHERE number = 1 FOR UPDATE")
        connection.execute("INSERT INTO numbers VALUES (2)")
        if runs == 1:
            proxy.stall()

    # The second run needs the row that the first one locked.
    await database.write(work)
    assert runs == 2
    assert postgres.execute("SELECT number FROM acc_ace.numbers ORDER BY 1", url=url) == [
        (1,),
        (2,),
    ]
    await database.close()


async def test_a_server_that_is_at_work_is_waited_for(url: str) -> None:
    database = PostgresDatabase(url, patience_s=0)

    def long(connection: Connection) -> int:
        # Longer than the silence that is borne without a question.
        row = connection.execute("SELECT 7 FROM pg_sleep(1.5)").fetchone()
        assert row is not None
        return int(row[0])

    assert await database.read(long) == 7
    await database.close()


async def test_no_thread_is_left_waiting_for_a_silent_server(
    url: str, proxy: StallingProxy
) -> None:
    before = set(threading.enumerate())
    database = PostgresDatabase(proxy.url(url), patience_s=PATIENCE_S)
    await asyncio.gather(*(database.check() for _ in range(8)))
    proxy.stall(dead=True)
    results = await asyncio.gather(*(database.check() for _ in range(16)), return_exceptions=True)
    assert {type(result) for result in results} == {StoreError}
    await database.close()
    left = set(threading.enumerate()) - before
    assert [thread.name for thread in left if thread.name.startswith("postgres")] == []


async def test_whoever_queues_for_a_silent_server_waits_no_longer_than_the_first(
    url: str, proxy: StallingProxy
) -> None:
    stores = open_for(proxy.url(url), database_wait_s=PATIENCE_S, database_connections=1)
    keys = [SessionKey("shop", "aiko", f"s-{number}") for number in range(50)]
    async with stores.lock.hold(KEY, wait_s=0):
        assert await stores.journal.head(KEY) is None
    proxy.stall(dead=True)
    # One after the other they would take fifty times the patience, twice.
    results = await asyncio.gather(
        *(stores.journal.head(key) for key in keys),
        *(stores.lock.hold(key, wait_s=0).__aenter__() for key in keys),
        return_exceptions=True,
    )
    assert {type(result) for result in results} == {StoreError}
    proxy.recover()
    assert await stores.journal.head(KEY) is None
    async with stores.lock.hold(KEY, wait_s=0):
        pass
    await stores.close()


async def test_the_network_itself_is_told_how_long_to_try(url: str) -> None:
    database = PostgresDatabase(url, patience_s=PATIENCE_S)
    connection = await asyncio.to_thread(database.connect)
    parameters = connection.info.get_parameters()
    assert {"connect_timeout", "keepalives_idle", "tcp_user_timeout"} <= set(parameters)
    assert connection.info.status is psycopg.pq.ConnStatus.OK
    connection.close()
    await database.close()
