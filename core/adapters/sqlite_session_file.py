"""The file of ADK's sessions in SQLite: one open connection that many calls take turns at.

Its statements run in order on a thread of their own, so a cancelled call may leave one that is
still to be run. Whatever ends a call before its commit, a rollback is queued behind all of it, and
the next call begins after that. With it goes what is still read: an open cursor keeps the state of
the file that it began with, and SQLite lets nobody write to an old one.

A call whose event loop was closed never goes on: the next one takes its turn, and begins with that
rollback.

ADK's calls commit what they write. Those that a task makes inside of `at_once` are one transaction.
"""

import asyncio
import sqlite3
import threading
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

import aiosqlite
from aiosqlite.core import _connection_worker_thread

from core.adapters.living_lock import LivingLock, Turn
from core.adapters.sqlite_database import make_directory
from core.adapters.sqlite_errors import store_error
from core.errors import StoreError

IN_MEMORY = Path(":memory:")

_TRIES = 250
_PAUSE_S = 0.02
_LAST_WORD_S = 5.0
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
        self._joint: _Joint | None = None
        # Usable from any event loop, unlike asyncio.Lock.
        self._serial = LivingLock()

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
        joint = self._joint
        if joint is not None and joint.task is asyncio.current_task():
            yield cast("aiosqlite.Connection", joint)
            return
        async with self._turn() as turn:
            try:
                connection = self._connection or await self._open()
                if turn.after_lost:
                    await _end(connection)
                    turn.after_lost = False
                try:
                    yield connection
                except BaseException as error:
                    # Not only when it is in a transaction: the statement may still be queued.
                    if turn.is_collected(error):
                        self._serial.lose(turn, partial(_end_unseen, connection))
                    else:
                        await _end(connection)
                    raise
                if connection.in_transaction:
                    await _end(connection)
            except sqlite3.Error as error:
                raise store_error(error, self.path) from error

    @asynccontextmanager
    async def at_once(self) -> AsyncIterator[aiosqlite.Connection]:
        """As `use`; what this task writes inside is all stored at the end, or nothing of it."""
        async with self.use() as connection:
            self._joint = joint = _Joint(asyncio.current_task(), connection)
            try:
                yield connection
            finally:
                # Where it was collected with a closed loop, another call may be at it by now.
                if self._joint is joint:
                    self._joint = None
            await connection.commit()

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
    async def _turn(self) -> AsyncIterator[Turn]:
        """Wait for the calls before this one; StoreError when they take too long."""
        begun = False
        try:
            async with self._serial.hold(wait_s=self._wait_s) as turn:
                begun = True
                yield turn
        except TimeoutError as error:
            if begun:
                raise
            raise StoreError(
                f"database {self.path} is locked by another process, or its disk is very slow: "
                f"others have waited for it for {self._wait_s:g} s; stop that process or try again"
            ) from error

    async def _open(self) -> aiosqlite.Connection:
        if self.path != IN_MEMORY:
            make_directory(self.path.parent)
        pending = aiosqlite.connect(self.path, factory=_Connection)
        pending._thread = threading.Thread(
            target=_work,
            args=(pending._tx, weakref.ref(pending)),
            # ADK does the same: a thread that waits for work must not keep the process alive.
            daemon=True,
        )
        connection = await pending
        try:
            connection.row_factory = aiosqlite.Row
            for pragma in _PRAGMAS:
                await connection.execute_fetchall(pragma)
            await _enter_wal(connection)
            await connection.executescript(self._schema)
        except GeneratorExit:
            connection.stop()
            raise
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


class _Joint:
    """A connection in a transaction of several calls of a task: none of them commits it."""

    def __init__(self, task: asyncio.Task[Any] | None, connection: aiosqlite.Connection) -> None:
        self.task = task
        self._connection = connection

    async def commit(self) -> None:
        """Leave that to the end."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the connection's own
        return getattr(self._connection, name)


class _Connection(sqlite3.Connection):
    """A connection that knows its cursors: a failed call's live on in its traceback."""

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - as the library's
        super().__init__(*args, **options)
        self._cursors: weakref.WeakSet[sqlite3.Cursor] = weakref.WeakSet()

    def cursor(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as the library's
        """A new cursor."""
        made = super().cursor(*args, **options)
        self._cursors.add(made)
        return made

    def execute(self, *args: Any) -> sqlite3.Cursor:  # noqa: ANN401 - as the library's
        """A new cursor that runs a statement; the library's own would not ask `cursor`."""
        made: sqlite3.Cursor = self.cursor()
        return made.execute(*args)

    def end(self) -> None:
        """Stop reading, and undo what is not committed."""
        for cursor in tuple(self._cursors):
            cursor.close()
        self.rollback()


def _work(queue: Any, of: "weakref.ref[aiosqlite.Connection]") -> None:  # noqa: ANN401
    """Run what is queued, as the driver does, whose own thread ends when a loop was closed."""
    while True:
        try:
            _connection_worker_thread(queue)
        except RuntimeError:
            # The loop that should hear of the last statement is closed: nobody will end its call.
            connection = of()
            if connection is None or connection._connection is None:
                return
            # What fails here fails again for the next call, which is told.
            with suppress(sqlite3.Error):
                cast("_Connection", connection._connection).end()
        else:
            return
        # Lest the thread keep it alive while it waits.
        del connection


def _end_unseen(connection: aiosqlite.Connection) -> None:
    """End a call behind all that it has queued, where nothing can be waited for."""
    connection._tx.put_nowait((None, cast("_Connection", connection._conn).end))


async def _end(connection: aiosqlite.Connection) -> None:
    """End a call behind all that it has queued; cancels meanwhile wait for that."""
    # No task: it would be cancelled with this one, by a scope or by an event loop that ends, and
    # the driver's thread would then answer to a closed loop, which is its end.
    ending: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    connection._tx.put_nowait((ending, cast("_Connection", connection._conn).end))
    cancelled: asyncio.CancelledError | None = None
    while not ending.done():
        try:
            await asyncio.wait({ending})
        except asyncio.CancelledError as error:
            cancelled = error
    ending.result()
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
