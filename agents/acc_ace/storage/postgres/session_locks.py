"""One turn of a session at a time among all processes that share a PostgreSQL database.

All advisory locks of a process are held by one connection, which does nothing else: the server
gives them back the moment that the process ends, however it ends. If that connection is lost while
turns run, their sessions are locked again over the next one. Should another process have been
faster, the journal's compare-and-swap lets only one of the two turns commit.

Advisory locks belong to a connection, so a pooler between this program and the server must
not work by transaction (PgBouncer: `pool_mode = session`).
"""

import asyncio
import hashlib
import json
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import psycopg

from acc_ace.errors import StoreError
from acc_ace.schemas.base import SessionKey
from acc_ace.storage.local_lock import QueuedSessionLock
from acc_ace.storage.postgres.connection import BoundedConnection, is_lost, store_error
from acc_ace.storage.postgres.database import PostgresDatabase

_log = logging.getLogger(__name__)

T = TypeVar("T")

_STATEMENT_S = 2.0
"""How long the server works on one of these statements; none of them waits for another."""

_BACKEND = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
_END = (
    # Waits, in milliseconds, until it is gone: its locks are given back last of all.
    "SELECT pg_terminate_backend(pid, 1500) FROM pg_stat_activity"
    " WHERE pid = %s AND backend_start = %s"
)


class PostgresSessionLock(QueuedSessionLock):
    """A SessionLock among processes: advisory locks on a connection of its own."""

    def __init__(self, database: PostgresDatabase) -> None:
        """Take one connection beside those of `database`. Does no I/O."""
        super().__init__()
        self._database = database
        self._mutex = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._closed = False
        # Touched by the one thread alone.
        self._connection: BoundedConnection | None = None
        self._backend: tuple[Any, ...] | None = None
        """Which process of the server has the locks; it may outlive the connection to it."""
        self._held: set[SessionKey] = set()

    async def close(self) -> None:
        """Give back every lock and disconnect."""
        with self._mutex:
            executor, self._executor, self._closed = self._executor, None, True
        if executor is not None:
            executor.submit(self._disconnect)
            await asyncio.to_thread(executor.shutdown)

    async def _take(self, key: SessionKey) -> bool:
        taken = False

        def work(connection: BoundedConnection) -> bool:
            nonlocal taken
            taken = key not in self._held and _try_lock(connection, key)
            if taken:
                self._held.add(key)
            return taken

        try:
            return await self._begun(lambda: self._persist(work))
        except asyncio.CancelledError:
            # It may be taken all the same, and its loop may end before that is known.
            self._worker().submit(lambda: self._unlock(key) if taken else None)
            raise

    async def _give_back(self, key: SessionKey) -> None:
        try:
            await asyncio.shield(self._begun(lambda: self._unlock(key)))
        except StoreError:
            # The turn is over and its result stands; closing gave every lock back.
            _log.warning("session_lock_not_returned session=%s", key.session, exc_info=True)

    def _unlock(self, key: SessionKey) -> None:
        self._held.discard(key)
        if self._connection is None:
            return
        try:
            self._connection.execute("SELECT pg_advisory_unlock(%s)", (_number(key),))
        except psycopg.Error:
            # With the connection its locks are gone, or will be when the next one ends it.
            _log.warning("session_lock_not_returned session=%s", key.session, exc_info=True)
            self._disconnect()

    def _begun(self, job: Callable[[], T]) -> "asyncio.Future[T]":
        """Run a job on the one thread that uses the connection."""
        return asyncio.get_running_loop().run_in_executor(self._worker(), job)

    def _worker(self) -> ThreadPoolExecutor:
        with self._mutex:
            if self._closed:
                raise StoreError(f"{self._database.server} was closed by this program")
            if self._executor is None:
                self._executor = ThreadPoolExecutor(1, thread_name_prefix="postgres-lock")
            return self._executor

    def _persist(self, work: Callable[[BoundedConnection], T]) -> T:
        """Do some work, once more over a new connection when this one is lost."""
        is_new = self._connection is None
        try:
            return work(self._connected())
        except psycopg.Error as error:
            self._disconnect()
            if is_new or not is_lost(error):
                raise store_error(error, self._database.server) from error
        return self._persist(work)

    def _connected(self) -> BoundedConnection:
        if self._connection is not None:
            return self._connection
        connection = self._database.connect()
        try:
            connection.allow(_STATEMENT_S)
            if self._backend is not None:
                # The server may take the lost connection for alive, with all its locks.
                connection.execute(_END, self._backend)
            self._backend = connection.execute(_BACKEND).fetchone()
            for key in sorted(self._held):
                if not _try_lock(connection, key):
                    _log.warning("session_lock_lost session=%s", key.session)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _try_lock(connection: BoundedConnection, key: SessionKey) -> bool:
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", (_number(key),)).fetchone()
    return bool(row and row[0])


def _number(key: SessionKey) -> int:
    """The 64-bit number of a session; two of them meet once in 10^19 pairs."""
    digest = hashlib.sha256(json.dumps(list(key)).encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
