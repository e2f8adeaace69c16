"""One SQLite database, in a file or in memory: connection, schema, errors.

All work runs on one dedicated thread, so that the event loop never waits for the disk and
transactions cannot interleave. A commit survives a process crash (write-ahead log) and a power
loss (`synchronous=FULL`); a turn is one commit, so it costs one disk flush. An error names the
problem and the fix.
"""

import asyncio
import logging
import random
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from acc_ace.errors import InputError, StoreError
from acc_ace.storage.private_files import make_database_file, make_directory
from acc_ace.storage.sql_rows import Rows, on_connection
from acc_ace.storage.sqlite.artifact_writes import SqliteRows
from acc_ace.storage.sqlite.failures import damage, is_busy, store_error
from acc_ace.storage.sqlite.migration import (
    check_known,
    check_present,
    in_transaction,
    mark_made,
    migrate,
)
from acc_ace.storage.sqlite.wal_checkpoint import (
    BRIEFLY_S,
    PATIENTLY_S,
    scrubbed,
    still_read,
    try_scrub,
)

logger = logging.getLogger(__name__)

T = TypeVar("T")

DATABASE_FILE = "memory.db"

IN_MEMORY = Path(":memory:")
"""Instead of a file: a database private to one SqliteDatabase, discarded on close."""

_TRY_S = 0.25
"""Wait of one try for the lock of another process: other work of this one waits as long."""

_PAUSES_S = (0.02, 0.2)
"""Bounds of the pause between tries: random, so that processes do not try in lockstep."""

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
        """Open `path` lazily; it grows to `max_pages` at most.

        Work waits `busy_timeout_s` for the lock of another process, then raises StoreError.
        """
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
        deadline = loop.time() + self._busy_timeout_s
        waited = False
        while True:
            try:
                return await loop.run_in_executor(self._worker(), self._transact, work, begin)
            except StoreError as error:
                if not is_busy(error.__cause__) or loop.time() >= deadline:
                    raise
            if not waited:
                logger.info("database_busy file=%s: waiting for another process", self.path.name)
            waited = True
            await asyncio.sleep(random.uniform(*_PAUSES_S))  # noqa: S311 - spreads load

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
            return in_transaction(connection, work, begin)
        except sqlite3.Error as error:
            raise store_error(error, self.path) from error
        except UnicodeDecodeError as error:  # Of sqlite3, which shows a text of the file.
            raise damage(error, self.path) from error
        except UnicodeEncodeError as error:
            raise InputError(f"text that is not valid Unicode cannot be stored: {error}") from error

    def _connect(self) -> sqlite3.Connection:
        if self.path != IN_MEMORY:
            make_directory(self.path.parent)
            check_present(self.path)
            make_database_file(self.path)
        connection = sqlite3.connect(
            self.path,
            timeout=min(self._busy_timeout_s, _TRY_S),
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
        check_known(connection, self.path)
        if self._max_pages is not None:
            connection.execute(f"PRAGMA max_page_count = {int(self._max_pages)}")
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
        # Overwrite deleted data, so that an erased user leaves no bytes in free pages.
        connection.execute("PRAGMA secure_delete = ON")
        migrate(connection, self.path)
        if self.path != IN_MEMORY:
            mark_made(self.path)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _quick_check(connection: sqlite3.Connection) -> None:
    result = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if result != "ok":
        raise sqlite3.DatabaseError(result)
