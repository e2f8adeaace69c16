"""One PostgreSQL database: connections, transactions, another try when that can help.

All work runs on threads of its own, at most one for each connection of the budget, so that the
event loop never waits for the network and any event loop may ask. A transaction that was cut off
is run again on a new connection, and none waits for ever for a server that has gone silent
(`postgres_connection`). Whether a COMMIT whose answer was lost took place cannot be
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
from typing import TypeVar

import psycopg

from core.adapters.postgres_connection import Address, WatchedConnection, silence_of
from core.adapters.postgres_errors import is_lost, is_raced, store_error
from core.adapters.postgres_patience import Patience
from core.adapters.postgres_schema import (
    SESSION,
    Connection,
    check_server,
    migrate,
    require_vectors,
)
from core.adapters.postgres_url import server_name
from core.errors import InputError, StoreError

_log = logging.getLogger(__name__)

T = TypeVar("T")

_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
_RACES = 20
"""Times that a transaction may lose against others before it is given up."""

_LONGEST_PAGE = 2**31 - 1

_PAUSES_S = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)


class PostgresDatabase:
    """A database, connected at first use and migrated to the newest schema."""

    def __init__(
        self,
        url: str,
        *,
        connections: int = 8,
        patience_s: float = 10.0,
        vectors: bool = False,
    ) -> None:
        """Use at most `connections`; wait up to `patience_s` for a server that is away.

        With `vectors` a server without pgvector is refused.

        Does no I/O. Raises ConfigError for a URL that cannot be read.
        """
        self.url = url
        self.server = server_name(url)
        self._connections = connections
        self._patience = Patience(patience_s)
        self._address = Address(url, silence_of(patience_s))
        self._vectors = vectors
        self._executor: ThreadPoolExecutor | None = None
        self._idle: list[WatchedConnection] = []
        self._mutex = threading.Lock()
        self._migration = threading.Lock()
        self._migrated = False
        self._closed = False

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a read transaction: one consistent view of the database."""
        return await self._run(work, _READ)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a write transaction: all of it is committed, or nothing.

        It may run more than once, also after it was committed. Raises StoreError, naming the
        server and the fix; InputError for text that PostgreSQL cannot hold.
        """
        return await self._run(work, _WRITE)

    async def check(self) -> None:
        """Reach the server; raises StoreError."""
        await self.read(lambda connection: connection.execute("SELECT 1"))

    async def close(self) -> None:
        """Finish running work and disconnect; using the database again raises StoreError."""
        with self._mutex:
            executor, self._executor, self._closed = self._executor, None, True
        if executor is not None:
            await asyncio.to_thread(executor.shutdown)
        self._disconnect()

    def connect(self) -> WatchedConnection:
        """A connection of one's own, outside of the budget, its schema up to date.

        Raises psycopg.Error and StoreError, within some seconds when the server is silent.
        """
        connection = self._address.connect()
        try:
            # Looked up now: it cannot be when it is needed.
            _ = connection.backend
            connection.asks = True
            connection.execute(SESSION.encode())
            connection.unlimited(lambda: self._prepare(connection))
        except BaseException:
            connection.close()
            raise
        return connection

    async def _run(self, work: Callable[[Connection], T], begin: str) -> T:
        job = self._workers().submit(self._persist, work, begin, time.monotonic())
        waiting = asyncio.wrap_future(job)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            # Whoever undoes this turn must find the transaction ended, one way or the other.
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

    def _persist(self, work: Callable[[Connection], T], begin: str, asked_at: float) -> T:
        """Try until it worked, the patience ended, or trying again cannot help."""
        deadline = self._patience.deadline(asked_at)
        races = losses = 0
        while True:
            try:
                result = self._attempt(work, begin)
            except psycopg.Error as error:
                if is_raced(error) and races < _RACES:
                    races += 1
                    time.sleep(_jitter(_PAUSES_S[0] * min(races, 10)))
                elif is_lost(error) and time.monotonic() < deadline:
                    pause = _PAUSES_S[min(losses, len(_PAUSES_S) - 1)]
                    losses += 1
                    if losses == 1:
                        _log.warning(
                            "database_lost server=%s: trying again for %g seconds",
                            self.server,
                            self._patience.seconds,
                        )
                    time.sleep(_jitter(pause))
                else:
                    raise self._given_up(error) from error
            except UnicodeEncodeError as error:
                raise InputError(
                    f"text that is not valid Unicode cannot be stored: {error}"
                ) from error
            else:
                self._patience.answered()
                return result

    def _given_up(self, error: psycopg.Error) -> StoreError | InputError:
        told = store_error(error, self.server)
        if is_lost(error) and isinstance(told, StoreError):
            self._patience.given_up(told)
        return told

    def _attempt(self, work: Callable[[Connection], T], begin: str) -> T:
        connection = self._take() or self.connect()
        try:
            result = _in_transaction(connection, work, begin)
        except BaseException as error:
            if connection.closed or (isinstance(error, psycopg.Error) and is_lost(error)):
                connection.close()
                # The others were cut off by the same cause, most likely.
                self._disconnect()
            else:
                self._give_back(connection)
            raise
        self._give_back(connection)
        return result

    def _take(self) -> WatchedConnection | None:
        """The connection used last, so that those that are not needed stay idle."""
        with self._mutex:
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: WatchedConnection) -> None:
        with self._mutex:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _disconnect(self) -> None:
        with self._mutex:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _prepare(self, connection: Connection) -> None:
        with self._migration:
            if not self._migrated:
                check_server(connection, self.server)
                migrate(connection, self.server)
                if self._vectors:
                    require_vectors(connection, self.server)
                self._migrated = True


def page_size(limit: int) -> int:
    """A limit that PostgreSQL takes, whatever the caller asked for."""
    return min(max(limit, 0), _LONGEST_PAGE)


def _in_transaction(connection: Connection, work: Callable[[Connection], T], begin: str) -> T:
    connection.execute(begin.encode())
    try:
        result = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        if not connection.closed:
            # Whatever happens now, the error that matters is the first one.
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK")
        raise
    return result


def _jitter(seconds: float) -> float:
    """Between half and all of it, so that those who failed together do not return together."""
    return seconds * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, hides nothing
