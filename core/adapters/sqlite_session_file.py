"""The file of ADK's sessions in SQLite: one open connection that many calls take turns at.

Its statements run in order on a thread of their own, so a cancelled call may leave one that is
still to be run. Whatever ends a call before its commit, a rollback is queued behind all of it, and
the next call begins after that.
"""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiosqlite

from core.adapters.session_lock import InProcessSessionLock
from core.adapters.sqlite_database import make_directory
from core.adapters.sqlite_errors import store_error
from core.errors import SessionBusyError, StoreError
from schemas.tenancy import SessionKey

IN_MEMORY = Path(":memory:")

_TRIES = 250
_PAUSE_S = 0.02
_LAST_WORD_S = 5.0
_CONNECTION = SessionKey("", "", "connection")
_PRAGMAS = (
    "PRAGMA busy_timeout = 5000",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA secure_delete = ON",
    "PRAGMA foreign_keys = ON",
)


class SessionFile:
    """One connection to a file with a schema; it is opened when it is needed."""

    def __init__(self, path: Path, schema: str, *, wait_s: float = 60.0) -> None:
        """A call waits at most `wait_s` seconds for those before it. Does no I/O."""
        self._connection: aiosqlite.Connection | None = None
        self.path = path
        self._schema = schema
        self._wait_s = wait_s
        # Usable from any event loop, unlike asyncio.Lock.
        self._serial = InProcessSessionLock()

    def __del__(self) -> None:
        # ADK's servers never close a session service; without this, Python warns at exit.
        if self._connection is not None:
            self._connection.stop()
            # It reports to the event loop, which may be closed as soon as this returns.
            if (worker := self._connection._thread) is not threading.current_thread():
                worker.join(_LAST_WORD_S)
            _OPEN.discard(self._connection)

    @asynccontextmanager
    async def use(self) -> AsyncIterator[aiosqlite.Connection]:
        """The connection, for one call at a time; what the call did not commit is rolled back.

        Raises StoreError, naming the file and the fix.
        """
        async with self._turn():
            try:
                connection = self._connection or await self._open()
                try:
                    yield connection
                except BaseException:
                    # Not only when it is in a transaction: the statement may still be queued.
                    await _roll_back(connection)
                    raise
                if connection.in_transaction:
                    await _roll_back(connection)
            except sqlite3.Error as error:
                raise store_error(error, self.path) from error

    async def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        async with self._turn():
            connection, self._connection = self._connection, None
            if connection is not None:
                try:
                    await connection.close()
                finally:
                    _OPEN.discard(connection)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Wait for the calls before this one; StoreError when they take too long."""
        try:
            async with self._serial.hold(_CONNECTION, wait_s=self._wait_s):
                yield
        except SessionBusyError as error:
            raise StoreError(
                f"database {self.path} is locked by another process, or its disk is very slow: "
                f"others have waited for it for {self._wait_s:g} s; stop that process or try again"
            ) from error

    async def _open(self) -> aiosqlite.Connection:
        if self.path != IN_MEMORY:
            make_directory(self.path.parent)
        pending = aiosqlite.connect(self.path)
        # ADK does the same: a thread that waits for work must not keep the process alive.
        pending._thread.daemon = True
        connection = await pending
        try:
            connection.row_factory = aiosqlite.Row
            for pragma in _PRAGMAS:
                await connection.execute_fetchall(pragma)
            await _enter_wal(connection)
            await connection.executescript(self._schema)
        except BaseException:
            await connection.close()
            raise
        self._connection = connection
        _OPEN.add(connection)
        return connection


_OPEN: set[aiosqlite.Connection] = set()
"""Connections in use.

A file that nobody closes may be collected in any order with what it holds. Held here, its
connection outlives it by the moment in which it is closed.
"""


async def _roll_back(connection: aiosqlite.Connection) -> None:
    """Undo what is not committed, behind all that is queued; cancels meanwhile wait for it."""
    # One task: whoever cancels again and again, as anyio does, would never let a new one end.
    rollback = asyncio.ensure_future(connection.rollback())
    cancelled: asyncio.CancelledError | None = None
    while not rollback.done():
        try:
            await asyncio.wait({rollback})
        except asyncio.CancelledError as error:
            cancelled = error
    rollback.result()
    if cancelled is not None:
        raise cancelled


async def _enter_wal(connection: aiosqlite.Connection) -> None:
    """Switch to the write-ahead log; SQLite does not wait here when others do it too."""
    for left in reversed(range(_TRIES)):
        try:
            await connection.execute_fetchall("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or not left:
                raise
            await asyncio.sleep(_PAUSE_S)
        else:
            return
