"""One PostgreSQL database: a connection pool, transactions, and retries where they can help.

All work runs on a thread pool, at most one thread per connection of the budget, so that it never
blocks an event loop and any event loop may use it. An interrupted transaction is retried on a new
connection. If the reply to a COMMIT is lost, its outcome is unknown, so all work must be
idempotent.
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
from acc_ace.ext.postgres.connection import (
    STATEMENT_S,
    BoundedConnection,
    SilentError,
    is_lost,
    is_raced,
    network,
    server_name,
    store_error,
)
from acc_ace.ext.postgres.rows import PostgresRows
from acc_ace.ext.postgres.schema import SESSION, check_server, migrate, require_vectors
from acc_ace.storage.sql_rows import Rows

_log = logging.getLogger(__name__)
logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # We report problems ourselves.

T = TypeVar("T")

_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
_RACES = 20
"""Maximum retries of a transaction that loses races."""

_PAUSES_S = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)

_MIN_WAIT_S = 5.0
"""Enough for a reachable server under load to make a connection."""

_IDLE_S = 300.0
"""Idle time after which a connection is closed."""


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
        """Use at most `connections`; wait up to `wait_s` for an unreachable server.

        `statement_s` is the statement timeout. With `vectors`, a server without pgvector is
        rejected.

        Does no I/O. Raises ConfigError for an invalid URL.
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
        """Run `work` in a read transaction over one consistent snapshot."""
        return await self._run(work, _READ)

    async def write(self, work: Callable[[Rows], T]) -> T:
        """Run `work` in one atomic write transaction.

        It may be retried, even after a commit. Raises StoreError, naming the server and the fix;
        InputError for text that PostgreSQL cannot store.
        """
        return await self._run(work, _WRITE)

    async def scrub(self) -> bool:
        """Return True: the server manages its own files."""
        return True

    async def check(self) -> None:
        """Check the connection to the server; raises StoreError."""
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
        """Open a dedicated connection, outside of the budget.

        Raises psycopg.Error, within seconds if the server does not respond.
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
        job = self._workers().submit(self._retried, work, begin, time.monotonic())
        waiting = asyncio.wrap_future(job)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            # The caller must find the transaction finished, committed or not.
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

    def _retried(self, work: Callable[[Rows], T], begin: str, asked_at: float) -> T:
        """Retry until success, the deadline, or an error that a retry cannot fix."""
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
                    # After a long silence, maybe only this connection was cut off.
                    if not losses:
                        _log.warning(
                            "database_lost server=%s: trying again for %g seconds",
                            self.server,
                            self._wait_s,
                        )
                    time.sleep(_jitter(_PAUSES_S[min(losses, len(_PAUSES_S) - 1)]))
                    losses += 1
                else:
                    raise self._final_error(error) from error
            except UnicodeEncodeError as error:
                raise InputError(
                    f"text that is not valid Unicode cannot be stored: {error}"
                ) from error
            else:
                self._failure = None
                return result

    def _deadline(self, asked_at: float) -> float:
        """The deadline of work submitted at `asked_at`. Raises StoreError when it has passed.

        Time in the queue counts while the server was unreachable, otherwise queued jobs would
        each wait the full time one after the other.
        """
        failure = self._failure
        if failure is None or failure.at < asked_at:
            return time.monotonic() + self._wait_s
        if asked_at + self._wait_s <= time.monotonic():
            raise StoreError(str(failure.error)) from failure.error
        return asked_at + self._wait_s

    def _final_error(self, error: psycopg.Error) -> StoreError | InputError:
        reported = store_error(self._cause(error), self.server)
        if is_lost(error) and isinstance(reported, StoreError):
            self._failure = _Failure(time.monotonic(), reported)
        return reported

    def _cause(self, error: psycopg.Error) -> psycopg.Error:
        """The reason for a pool timeout, which the pool does not report."""
        if isinstance(error, PoolTimeout):
            try:
                self.connect().close()
            except psycopg.Error as cause:
                return cause
        return error

    def _attempt(self, work: Callable[[Rows], T], begin: str, deadline: float) -> T:
        pool = self._open_pool()
        try:
            left = max(deadline - time.monotonic(), _MIN_WAIT_S)
            with pool.connection(timeout=left) as connection:
                return _in_transaction(connection, work, begin)
        except psycopg.Error as error:
            if is_lost(error):
                self._discard(pool)
            raise

    def _discard(self, pool: ConnectionPool[BoundedConnection]) -> None:
        """Drop the pool: its other connections were probably cut off too.

        The old pool would back off between its attempts; a new one connects at once.
        """
        with self._opening:
            if self._pool is pool:
                self._pool = None
        pool.close(timeout=0)

    def _open_pool(self) -> ConnectionPool[BoundedConnection]:
        """The pool, opened after the schema check, whose connection reports problems."""
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
            reconnect_timeout=max(self._wait_s, _MIN_WAIT_S),
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
            # The first error is the one to report, whatever happens here.
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK")
        raise
    finally:
        connection.longest_s = usual_s
    return result


def _jitter(seconds: float) -> float:
    """A random time from half to all of it, so that clients do not retry in lockstep."""
    return seconds * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, hides nothing
