"""One turn of a session at a time among all processes that share a PostgreSQL database.

Within the process tasks queue for an in-process lock. The one that has it then takes an advisory
lock. All advisory locks of a process are held by one connection, which does nothing else: the
server gives them back the moment that the process ends, however it ends. If the connection is
lost while turns run, they are taken again on a new one; should another process have been faster,
the journal's compare-and-swap still lets only one of the two turns commit.

Advisory locks belong to a connection, so a pooler between this program and the server must
not work by transaction (PgBouncer: `pool_mode = session`).
"""

import asyncio
import hashlib
import json
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

import psycopg

from core.adapters.postgres_database import PostgresDatabase
from core.adapters.postgres_errors import is_lost, store_error
from core.adapters.postgres_schema import Connection
from core.adapters.session_lock import InProcessSessionLock, busy
from core.errors import StoreError
from schemas.tenancy import SessionKey

_log = logging.getLogger(__name__)

T = TypeVar("T")

_POLL_S = 0.1
_PAUSE_S = 0.1


class PostgresSessionLock:
    """A SessionLock among processes: an in-process queue and an advisory lock."""

    def __init__(
        self, database: PostgresDatabase, *, patience_s: float = 10.0, beat_s: float = 5.0
    ) -> None:
        """Wait `patience_s` for a server that is away; look every `beat_s` that it is still there.

        Does no I/O. Takes one connection beside those of `database`.
        """
        self._database = database
        self._patience_s = patience_s
        self._beat_s = beat_s
        self._local = InProcessSessionLock()
        self._mutex = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._closed = False
        # Touched by the one thread alone.
        self._connection: Connection | None = None
        self._held: set[SessionKey] = set()
        self._heard_at = 0.0

    @asynccontextmanager
    async def hold(self, key: SessionKey, *, wait_s: float) -> AsyncIterator[None]:
        """Hold the session while the context is open; SessionBusyError after `wait_s` seconds."""
        deadline = asyncio.get_running_loop().time() + wait_s
        async with self._local.hold(key, wait_s=wait_s):
            try:
                await self._acquire(key, deadline, wait_s)
                watch = asyncio.create_task(self._watch())
                try:
                    yield
                finally:
                    watch.cancel()
                    with suppress(asyncio.CancelledError):
                        await watch
            finally:
                await asyncio.shield(self._give_back(key))

    async def close(self) -> None:
        """Give back every lock and disconnect."""
        with self._mutex:
            executor, self._executor, self._closed = self._executor, None, True
        if executor is not None:
            executor.submit(self._disconnect)
            await asyncio.to_thread(executor.shutdown)

    async def _acquire(self, key: SessionKey, deadline: float, wait_s: float) -> None:
        loop = asyncio.get_running_loop()
        while not await self._run(lambda connection: self._take(connection, key)):
            left = deadline - loop.time()
            if left <= 0:
                raise busy(key, wait_s)
            await asyncio.sleep(min(_POLL_S, left))

    async def _watch(self) -> None:
        """Notice a lost connection while a long turn runs, and take the locks again."""
        while True:
            await asyncio.sleep(self._beat_s)
            try:
                await self._run(self._listen)
            except StoreError:
                # The next beat may succeed, and the journal guards the commit anyway.
                _log.warning("session_locks_lost", exc_info=True)

    async def _give_back(self, key: SessionKey) -> None:
        def work(connection: Connection) -> None:
            if key in self._held:
                self._held.discard(key)
                connection.execute("SELECT pg_advisory_unlock(%s)", (_number(key),))

        try:
            await self._run(work)
        except StoreError:
            # The turn is over and its result stands; without a connection there is no lock.
            _log.warning("session_lock_not_returned", extra={"session": key.session}, exc_info=True)

    async def _run(self, work: Callable[[Connection], T]) -> T:
        with self._mutex:
            if self._closed:
                raise StoreError(f"{self._database.server} was closed by this program")
            if self._executor is None:
                self._executor = ThreadPoolExecutor(1, thread_name_prefix="postgres-lock")
            executor = self._executor
        return await asyncio.get_running_loop().run_in_executor(executor, self._persist, work)

    def _persist(self, work: Callable[[Connection], T]) -> T:
        deadline = time.monotonic() + self._patience_s
        while True:
            try:
                result = work(self._connection or self._connect())
            except psycopg.Error as error:
                if not is_lost(error) or time.monotonic() >= deadline:
                    raise store_error(error, self._database.server) from error
                self._disconnect()
                time.sleep(_PAUSE_S)
            else:
                self._heard_at = time.monotonic()
                return result

    def _connect(self) -> Connection:
        """A new connection, on which the locks of the running turns are taken again."""
        connection = self._database.connect()
        try:
            for key in sorted(self._held):
                if not _try_lock(connection, key):
                    self._held.discard(key)
                    _log.warning("session_lock_lost", extra={"session": key.session})
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _take(self, connection: Connection, key: SessionKey) -> bool:
        if _try_lock(connection, key):
            self._held.add(key)
            return True
        return False

    def _listen(self, connection: Connection) -> None:
        if time.monotonic() - self._heard_at >= self._beat_s:
            connection.execute("SELECT 1")


def _try_lock(connection: Connection, key: SessionKey) -> bool:
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", (_number(key),)).fetchone()
    return bool(row and row[0])


def _number(key: SessionKey) -> int:
    """The 64-bit number of a session; two of them meet once in 10^19 pairs."""
    digest = hashlib.sha256(json.dumps(list(key)).encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
