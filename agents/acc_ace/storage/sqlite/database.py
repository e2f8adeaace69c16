"""One SQLite database, in a file or in memory: connection, schema, errors.

All work runs on one dedicated thread, so that the event loop never waits for the disk and
transactions cannot interleave. A commit survives a process crash (write-ahead log) and a power
loss (`synchronous=FULL`); a turn is one commit, so it costs one disk flush. An error names the
problem and the fix.
"""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from acc_ace.errors import CorruptStoreError, InputError, StoreError
from acc_ace.storage.private_files import make_database_file, make_directory
from acc_ace.storage.sql_database import VERSION, baseline, check_version, upgrades
from acc_ace.storage.sql_rows import Rows, on_connection
from acc_ace.storage.sqlite.artifact_writes import SqliteRows
from acc_ace.storage.sqlite.wal_checkpoint import (
    BRIEFLY_S,
    PATIENTLY_S,
    scrubbed,
    still_read,
    try_scrub,
)

_FIXES: dict[int, str] = {
    sqlite3.SQLITE_BUSY: "is locked by another process; stop it or try again",
    sqlite3.SQLITE_LOCKED: "is locked by another connection; try again",
    sqlite3.SQLITE_READONLY: "cannot be written; make the file and its directory writable",
    sqlite3.SQLITE_PERM: "cannot be accessed; make the file and its directory writable",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that ACC_ACE_DATA_DIR is a directory "
    "that you may write to",
    sqlite3.SQLITE_FULL: "cannot grow, the disk or quota is full; free some space and try again",
    sqlite3.SQLITE_IOERR: "cannot be read or written; check the disk",
}
_CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def store_error(error: sqlite3.Error, path: Path) -> StoreError:
    """The StoreError that names the database, the problem and the fix."""
    # The low byte is the primary code; the rest is the extended code.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _CORRUPT:
        return CorruptStoreError(
            f"database {path} is damaged ({error}); move it away to start over, or restore a copy"
        )
    if "no such module: fts5" in str(error):
        return StoreError("this Python's SQLite has no FTS5; use a build that has it")
    return StoreError(f"database {path} {_FIXES.get(code, 'failed')} ({error})")


T = TypeVar("T")

DATABASE_FILE = "memory.db"

IN_MEMORY = Path(":memory:")
"""Instead of a file: a database private to one SqliteDatabase, discarded on close."""

_PAUSE_S = 0.02

_PAGE_BYTES = 1_024
"""A turn changes one small row in each of about forty tables and indexes, and each changed page is
written twice: with SQLite's default of 4,096 bytes, a turn writes 2.5 times as much."""

_CACHE_KB = 16_384
"""Page cache. With SQLite's default of 2 MB, each turn's recall rereads the index."""


class SqliteDatabase:
    """A database, opened at first use; an empty one gets its schema."""

    def __init__(
        self,
        path: Path,
        *,
        busy_timeout_s: float = 5.0,
        max_pages: int | None = None,
    ) -> None:
        """Open `path` lazily; wait `busy_timeout_s` for other processes; at most `max_pages`."""
        self._connection: sqlite3.Connection | None = None
        self.path = path
        self._busy_timeout_s = busy_timeout_s
        self._max_pages = max_pages
        self._executor: ThreadPoolExecutor | None = None
        self._mutex = threading.Lock()
        self._closed = False

    def __del__(self) -> None:
        # For programs that exit without closing; the thread ends with its executor.
        if self._connection is not None:
            self._connection.close()

    async def read(self, work: Callable[[Rows], T]) -> T:
        """Run `work` in a read transaction over one consistent snapshot."""
        return await self._run(work, begin="BEGIN")

    async def write(self, work: Callable[[Rows], T]) -> T:
        """Run `work` in one atomic write transaction.

        Raises StoreError, naming the file and the fix; InputError for text that is not Unicode.
        """
        return await self._run(work, begin="BEGIN IMMEDIATE")

    async def scrub(self, *, wait_s: float = BRIEFLY_S) -> bool:
        """Checkpoint and truncate the write-ahead log, so that no erased text is left in it.

        False when another program still reads the file after `wait_s` seconds.
        """
        return await scrubbed(
            lambda: self._run(on_connection(try_scrub), begin=None), self.path, wait_s=wait_s
        )

    async def wipe(self) -> None:
        """Scrub with a longer wait; StoreError if another program still reads erased data."""
        if not await self.scrub(wait_s=PATIENTLY_S):
            raise still_read(self.path)

    async def check(self) -> None:
        """Open the file and check its integrity; raises StoreError."""
        await self._run(on_connection(_quick_check), begin=None)

    async def close(self) -> None:
        """Finish running work and close the file; using the database again raises StoreError."""
        with self._mutex:
            executor, self._executor, self._closed = self._executor, None, True
        if executor is not None:
            await asyncio.get_running_loop().run_in_executor(executor, self._disconnect)
            executor.shutdown(wait=False)

    async def _run(self, work: Callable[[Rows], T], *, begin: str | None) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._worker(), self._transact, work, begin)

    def _worker(self) -> ThreadPoolExecutor:
        with self._mutex:
            if self._closed:
                raise StoreError(f"database {self.path} is closed")
            if self._executor is None:
                self._executor = ThreadPoolExecutor(1, thread_name_prefix="sqlite")
            return self._executor

    def _transact(self, work: Callable[[Rows], T], begin: str | None) -> T:
        try:
            connection = self._connection or self._connect()
            if begin is None:
                return work(SqliteRows(connection))
            return _in_transaction(connection, work, begin)
        except sqlite3.Error as error:
            raise store_error(error, self.path) from error
        except UnicodeEncodeError as error:
            raise InputError(f"text that is not valid Unicode cannot be stored: {error}") from error

    def _connect(self) -> sqlite3.Connection:
        if self.path != IN_MEMORY:
            make_directory(self.path.parent)
            make_database_file(self.path)
        connection = sqlite3.connect(
            self.path,
            timeout=self._busy_timeout_s,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        if self._max_pages is not None:
            connection.execute(f"PRAGMA max_page_count = {int(self._max_pages)}")
        self._enter_wal(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
        # Overwrite deleted data, so that an erased user leaves no bytes in free pages.
        connection.execute("PRAGMA secure_delete = ON")
        migrate(connection, f"database {self.path}")

    def _enter_wal(self, connection: sqlite3.Connection) -> None:
        """Switch to the write-ahead log, with retries: SQLite's busy timeout does not apply."""
        for left in reversed(range(max(1, round(self._busy_timeout_s / _PAUSE_S)))):
            try:
                connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or not left:
                    raise
                time.sleep(_PAUSE_S)
            else:
                return

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def migrate(connection: sqlite3.Connection, database: str) -> None:
    """Create the schema in an empty database, or upgrade it; StoreError where it cannot be."""
    if _version(connection) == VERSION:
        return

    def create(rows: Rows) -> None:
        # Read again inside the transaction: another process may have been faster.
        version = _version(connection)
        if version or _is_foreign(rows):
            check_version(version, database, "ACC_ACE_DATA_DIR")
        scripts = upgrades(version) if version else [baseline("sqlite")]
        for statement in _statements("\n".join(scripts)):
            rows.run(statement)
        rows.run(f"PRAGMA user_version = {VERSION}")

    _in_transaction(connection, create, "BEGIN IMMEDIATE")


def _is_foreign(rows: Rows) -> bool:
    """Whether a file without a version has tables, made by another program."""
    return rows.one("SELECT 1 FROM sqlite_master LIMIT 1") is not None


def _in_transaction(connection: sqlite3.Connection, work: Callable[[Rows], T], begin: str) -> T:
    connection.execute(begin)
    try:
        result = work(SqliteRows(connection))
        connection.execute("COMMIT")
    except BaseException:
        # SQLite rolls back automatically after some errors, such as a full disk.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _statements(script: str) -> list[str]:
    """Split a script into statements; triggers contain semicolons."""
    statements, current = [], ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return statements


def _quick_check(connection: sqlite3.Connection) -> None:
    result = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if result != "ok":
        raise sqlite3.DatabaseError(result)
