"""Session locks across all processes that share a PostgreSQL database.

All advisory locks of a process are on one dedicated connection: the server releases them when
the process ends, for any reason. If that connection is lost while turns run, their sessions are
locked again over a new one. If another process was faster, the journal's compare-and-swap lets only
one of the two turns commit.

Advisory locks belong to a connection, so a pooler in between must not use transaction pooling
(PgBouncer: `pool_mode = session`).
"""

import asyncio
import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import psycopg

from acc_ace.core.schemas.base import SessionKey
from acc_ace.errors import StoreError
from acc_ace.ext.postgres.connection import BoundedConnection, is_lost, store_error
from acc_ace.ext.postgres.database import PostgresDatabase
from acc_ace.storage.local_lock import QueuedSessionLock

_log = logging.getLogger(__name__)

T = TypeVar("T")

_STATEMENT_S = 2.0
"""Timeout of a lock statement, in seconds; none of them blocks."""

_PAUSES_S = (0.0, 0.1, 0.25, 0.5, 1.0)
"""Pauses before a lost connection is opened again; a server restarts within them."""

_BACKEND = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
_END = (
    # Waits (milliseconds) until the backend has ended, since it releases its locks last.
    "SELECT pg_terminate_backend(pid, 1500) FROM pg_stat_activity"
    " WHERE pid = %s AND backend_start = %s"
)


class PostgresSessionLock(QueuedSessionLock):
    """A cross-process SessionLock: advisory locks on a dedicated connection."""

    def __init__(self, database: PostgresDatabase) -> None:
        """Use one connection in addition to those of `database`. Does no I/O."""
        super().__init__()
        self._database = database
        self._mutex = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._closed = False
        # Used only by the worker thread.
        self._connection: BoundedConnection | None = None
        self._backend: tuple[Any, ...] | None = None
        """The server process with the locks; it may outlive the connection."""
        self._locked: set[SessionKey] = set()

    async def close(self) -> None:
        """Release all locks and disconnect."""
        with self._mutex:
            executor, self._executor, self._closed = self._executor, None, True
        if executor is not None:
            executor.submit(self._disconnect)
            await asyncio.to_thread(executor.shutdown)

    async def _try_acquire(self, key: SessionKey) -> bool:
        taken = False

        def work(connection: BoundedConnection) -> bool:
            nonlocal taken
            taken = key not in self._locked and _try_lock(connection, key)
            if taken:
                self._locked.add(key)
            return taken

        try:
            return await self._submit(lambda: self._retried(work))
        except asyncio.CancelledError:
            # The lock may still be acquired, and the event loop may end before it is known.
            self._worker().submit(lambda: self._unlock(key) if taken else None)
            raise

    async def _release(self, key: SessionKey) -> None:
        try:
            await asyncio.shield(self._submit(lambda: self._unlock(key)))
        except StoreError:
            # The turn is committed, and closing has released all locks.
            _log.warning("session_lock_not_returned session=%s", key.session, exc_info=True)

    def _unlock(self, key: SessionKey) -> None:
        self._locked.discard(key)
        if self._connection is None:
            return
        try:
            self._connection.execute("SELECT pg_advisory_unlock(%s)", (_number(key),))
        except psycopg.Error:
            # A lost connection's locks are released, at the latest when the next one ends it.
            _log.warning("session_lock_not_returned session=%s", key.session, exc_info=True)
            self._disconnect()

    def _submit(self, job: Callable[[], T]) -> "asyncio.Future[T]":
        """Run a job on the worker thread."""
        return asyncio.get_running_loop().run_in_executor(self._worker(), job)

    def _worker(self) -> ThreadPoolExecutor:
        with self._mutex:
            if self._closed:
                raise StoreError(f"{self._database.server} was closed by this program")
            if self._executor is None:
                self._executor = ThreadPoolExecutor(1, thread_name_prefix="postgres-lock")
            return self._executor

    def _retried(self, work: Callable[[BoundedConnection], T]) -> T:
        """Run work; a lost connection is replaced, for as long as a restart may take."""
        pauses = iter(_PAUSES_S)
        while True:
            try:
                return work(self._connected())
            except psycopg.Error as error:
                self._disconnect()
                pause = next(pauses, None) if is_lost(error) else None
                if pause is None:
                    raise store_error(error, self._database.server) from error
                time.sleep(pause)

    def _connected(self) -> BoundedConnection:
        if self._connection is not None:
            return self._connection
        connection = self._database.connect()
        try:
            connection.allow(_STATEMENT_S)
            if self._backend is not None:
                # The server may not have noticed the loss yet, and still hold the locks.
                connection.execute(_END, self._backend)
            self._backend = connection.execute(_BACKEND).fetchone()
            for key in sorted(self._locked):
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
    """The 64-bit lock key of a session; two collide once in 10^19 pairs."""
    digest = hashlib.sha256(json.dumps(list(key)).encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
