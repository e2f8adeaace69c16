"""One PostgreSQL database: a pool of connections, transactions, another try when that can help.

All work runs on threads of its own, at most one for each connection of the budget, so that the
event loop never waits for the network and any event loop may ask. A transaction that was cut off
is run again on a new connection. Whether a COMMIT whose answer was lost took place cannot be
known, so every piece of work must find by itself what an earlier run of it left behind.
"""

import asyncio
import logging
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple, TypeVar

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from acc_ace.errors import InputError, StoreError
from acc_ace.storage.postgres.connection import (
    STATEMENT_S,
    BoundedConnection,
    SilentError,
    is_lost,
    is_raced,
    network,
    server_name,
    store_error,
)
from acc_ace.storage.postgres.rows import PostgresRows
from acc_ace.storage.postgres.schema import SESSION, check_server, migrate, require_vectors
from acc_ace.storage.sql_rows import Rows

_log = logging.getLogger(__name__)
logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # We say ourselves what is wrong.

T = TypeVar("T")

_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
_RACES = 20
"""Times that a transaction may lose against others before it is given up."""

_PAUSES_S = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)

_LEAST_WAIT_S = 5.0
"""A server that is there makes a connection within this time, if it has much to do."""

_IDLE_S = 300.0
"""A connection that nobody needed for so long is closed."""


class _Failure(NamedTuple):
    at: float
    error: StoreError


class PostgresDatabase:
    """A database, connected at first use; an empty one gets its schema."""

    def __init__(
        self,
        url: str,
        *,
        connections: int = 8,
        wait_s: float = 10.0,
        statement_s: float = STATEMENT_S,
        vectors: bool = False,
    ) -> None:
        """Use at most `connections`; wait up to `wait_s` for a server that is away.

        The server works at most `statement_s` on one statement. With `vectors` a server without
        pgvector is refused.

        Does no I/O. Raises ConfigError for a URL that cannot be read.
        """
        self.url = url
        self.server = server_name(url)
        self._connections, self._wait_s = connections, wait_s
        self._statement_s, self._vectors = statement_s, vectors
        self._executor: ThreadPoolExecutor | None = None
        self._pool: ConnectionPool[BoundedConnection] | None = None
        self._prepared = False
        self._failure: _Failure | None = None
        self._mutex = threading.Lock()
        self._opening = threading.Lock()
        self._closed = False

    async def read(self, work: Callable[[Rows], T]) -> T:
        """Run `work` in a read transaction: one consistent view of the database."""
        return await self._run(work, _READ)

    async def write(self, work: Callable[[Rows], T]) -> T:
        """Run `work` in a write transaction: all of it is committed, or nothing.

        It may run more than once, also after it was committed. Raises StoreError, naming the
        server and the fix; InputError for text that PostgreSQL cannot hold.
        """
        return await self._run(work, _WRITE)

    async def scrub(self) -> bool:
        """True: the server's files are not for this program to look after."""
        return True

    async def check(self) -> None:
        """Reach the server; raises StoreError."""
        await self.read(lambda rows: rows.all("SELECT 1"))

    async def close(self) -> None:
        """Finish running work and disconnect; using the database again raises StoreError."""
        with self._mutex:
            executor, self._executor, self._closed = self._executor, None, True
        if executor is not None:
            await asyncio.to_thread(executor.shutdown)
        if self._pool is not None:
            await asyncio.to_thread(self._pool.close)

    def connect(self) -> BoundedConnection:
        """A connection of one's own, outside of the budget.

        Raises psycopg.Error, within some seconds when the server is silent.
        """
        connection = BoundedConnection.connect(
            self.url, autocommit=True, application_name="acc-ace", **network(self._wait_s)
        )
        try:
            self._configure(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _configure(self, connection: BoundedConnection) -> None:
        connection.execute(SESSION.encode())
        connection.allow(self._statement_s)

    async def _run(self, work: Callable[[Rows], T], begin: str) -> T:
        job = self._workers().submit(self._persist, work, begin, time.monotonic())
        waiting = asyncio.wrap_future(job)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            # Whoever goes on must find the transaction ended, one way or the other.
            if not job.cancel():
                await asyncio.wait([waiting])
                if not waiting.cancelled():
                    waiting.exception()
            raise

    def _workers(self) -> ThreadPoolExecutor:
        with self._mutex:
            if self._closed:
                raise StoreError(f"{self.server} was closed by this program")
            if self._executor is None:
                self._executor = ThreadPoolExecutor(
                    self._connections, thread_name_prefix="postgres"
                )
            return self._executor

    def _persist(self, work: Callable[[Rows], T], begin: str, asked_at: float) -> T:
        """Try until it worked, the time is over, or trying again cannot help."""
        deadline = self._deadline(asked_at)
        races = losses = 0
        while True:
            try:
                result = self._attempt(work, begin, deadline)
            except psycopg.Error as error:
                if is_raced(error) and races < _RACES:
                    races += 1
                    time.sleep(_jitter(_PAUSES_S[0] * min(races, 10)))
                elif is_lost(error) and (
                    time.monotonic() < deadline or (isinstance(error, SilentError) and not losses)
                ):
                    # One that was silent for long may be the only one that is cut off.
                    if not losses:
                        _log.warning(
                            "database_lost server=%s: trying again for %g seconds",
                            self.server,
                            self._wait_s,
                        )
                    time.sleep(_jitter(_PAUSES_S[min(losses, len(_PAUSES_S) - 1)]))
                    losses += 1
                else:
                    raise self._given_up(error) from error
            except UnicodeEncodeError as error:
                raise InputError(
                    f"text that is not valid Unicode cannot be stored: {error}"
                ) from error
            else:
                self._failure = None
                return result

    def _deadline(self, asked_at: float) -> float:
        """When work that was asked for then is given up. Raises StoreError when that is over.

        Work that waited for a thread while the server was away has waited for the server too: it
        does not begin anew, or a queue of it would take its number of waits.
        """
        failure = self._failure
        if failure is None or failure.at < asked_at:
            return time.monotonic() + self._wait_s
        if asked_at + self._wait_s <= time.monotonic():
            raise StoreError(str(failure.error)) from failure.error
        return asked_at + self._wait_s

    def _given_up(self, error: psycopg.Error) -> StoreError | InputError:
        reported = store_error(self._cause(error), self.server)
        if is_lost(error) and isinstance(reported, StoreError):
            self._failure = _Failure(time.monotonic(), reported)
        return reported

    def _cause(self, error: psycopg.Error) -> psycopg.Error:
        """Why the pool gave no connection, which it does not say."""
        if isinstance(error, PoolTimeout):
            try:
                self.connect().close()
            except psycopg.Error as cause:
                return cause
        return error

    def _attempt(self, work: Callable[[Rows], T], begin: str, deadline: float) -> T:
        pool = self._opened()
        try:
            left = max(deadline - time.monotonic(), _LEAST_WAIT_S)
            with pool.connection(timeout=left) as connection:
                return _in_transaction(connection, work, begin)
        except psycopg.Error as error:
            if is_lost(error):
                self._discard(pool)
            raise

    def _discard(self, pool: ConnectionPool[BoundedConnection]) -> None:
        """The other connections were cut off by the same cause, most likely.

        A pool goes on to wait longer and longer between its tries; a new one begins at once.
        """
        with self._opening:
            if self._pool is pool:
                self._pool = None
        pool.close(timeout=0)

    def _opened(self) -> ConnectionPool[BoundedConnection]:
        """The pool, opened once the schema is there: that connection tells what is wrong."""
        with self._opening:
            if not self._prepared:
                self._prepare()
                self._prepared = True
            if self._pool is None:
                self._pool = self._new_pool()
            return self._pool

    def _prepare(self) -> None:
        with self.connect() as connection:
            connection.allow(0)
            check_server(connection, self.server)
            migrate(connection, self.server)
            if self._vectors:
                require_vectors(connection, self.server)

    def _new_pool(self) -> ConnectionPool[BoundedConnection]:
        return ConnectionPool(
            self.url,
            connection_class=BoundedConnection,
            kwargs={"autocommit": True, "application_name": "acc-ace", **network(self._wait_s)},
            min_size=0,
            max_size=self._connections,
            max_idle=_IDLE_S,
            reconnect_timeout=max(self._wait_s, _LEAST_WAIT_S),
            configure=self._configure,
            open=True,
        )


def _in_transaction(connection: BoundedConnection, work: Callable[[Rows], T], begin: str) -> T:
    usual_s = connection.longest_s
    connection.execute(begin.encode())
    try:
        result = work(PostgresRows(connection))
        connection.execute("COMMIT")
    except BaseException:
        if not connection.closed:
            # Whatever happens now, the error that matters is the first one.
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK")
        raise
    finally:
        connection.longest_s = usual_s
    return result


def _jitter(seconds: float) -> float:
    """Between half and all of it, so that those who failed together do not return together."""
    return seconds * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, hides nothing
