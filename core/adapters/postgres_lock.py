"""One turn of a session at a time among all processes that share a PostgreSQL database.

Within the process tasks queue for an in-process lock. The one that has it then takes an advisory
lock. All advisory locks of a process are held by one connection, which does nothing else: the
server gives them back the moment that the process ends, however it ends. If the connection is
lost while turns run, they are moved to a new one (`postgres_advisory`), also when the server has
not noticed the loss yet. When the server was restarted and all processes lost theirs, each takes
no other session for two beats, in which all get back to those that they had. Should another
process have been faster all the same, the turn is told when it comes to commit, and commits
nothing.

A task whose event loop was closed never gives its lock back: whichever turn of this process asks
the server next does that.

Advisory locks belong to a connection, so a pooler between this program and the server must
not work by transaction (PgBouncer: `pool_mode = session`).
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar

import psycopg

from core.adapters.living_lock import Turn
from core.adapters.postgres_advisory import give_back, may_be_untaken, move, take
from core.adapters.postgres_connection import Backend, WatchedConnection
from core.adapters.postgres_database import PostgresDatabase
from core.adapters.postgres_errors import is_lost, store_error
from core.adapters.postgres_patience import Patience
from core.adapters.postgres_schema import Connection
from core.adapters.session_lock import InProcessSessionLock, busy
from core.errors import ConflictError, StoreError
from schemas.tenancy import SessionKey

_log = logging.getLogger(__name__)

T = TypeVar("T")

_POLL_S = 0.1
_PAUSE_S = 0.1
_LOST_BACKENDS = 16

_BEATS_OF_GRACE = 2
"""One until a process looks whether it lost its locks, and as long again to take them."""


class PostgresSessionLock:
    """A SessionLock among processes: an in-process queue and an advisory lock."""

    def __init__(
        self, database: PostgresDatabase, *, patience_s: float = 10.0, beat_s: float = 2.0
    ) -> None:
        """Wait `patience_s` for a server that is away; look every `beat_s` that it is still there.

        Does no I/O. Takes one connection beside those of `database`.
        """
        self._database = database
        self._patience = Patience(patience_s)
        self._beat_s = beat_s
        self._local = InProcessSessionLock()
        self._mutex = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._closed = False
        # Touched by the one thread alone.
        self._connection: WatchedConnection | None = None
        self._wanted: dict[SessionKey, Turn] = {}
        self._held: set[SessionKey] = set()
        self._lost: deque[Backend] = deque(maxlen=_LOST_BACKENDS)
        self._looked_at = 0.0
        """When the server was last heard, or found away."""
        self._owners_first_until = 0.0

    @asynccontextmanager
    async def hold(self, key: SessionKey, *, wait_s: float) -> AsyncIterator[None]:
        """Hold the session while the context is open; SessionBusyError after `wait_s` seconds."""
        deadline = asyncio.get_running_loop().time() + wait_s
        async with self._local.turn(key, wait_s=wait_s) as turn:
            try:
                await self._acquire(key, turn, deadline, wait_s)
                watch = asyncio.create_task(self._watch())
                try:
                    yield
                finally:
                    if turn.is_run:
                        watch.cancel()
            finally:
                if turn.is_run:
                    await self._give_back(key)
                else:
                    turn.is_lost = True

    async def confirm(self, key: SessionKey) -> None:
        """Make sure that a turn of this process which held the session still does.

        To be asked before the turn commits. Raises ConflictError when another process took the
        session, and StoreError when the server cannot be asked. Nothing is asked for a session
        that no turn of this process holds.
        """
        if key in self._wanted and not await self._ask(self._asked(key)):
            raise ConflictError(
                f"session {key.session!r} was taken over by another process while this one was "
                f"cut off from {self._database.server}; nothing was committed, send again"
            )

    async def close(self) -> None:
        """Give back every lock and disconnect."""
        with self._mutex:
            executor, self._executor, self._closed = self._executor, None, True
        if executor is not None:
            executor.submit(self._disconnect)
            await asyncio.to_thread(executor.shutdown)

    async def _acquire(self, key: SessionKey, turn: Turn, deadline: float, wait_s: float) -> None:
        loop = asyncio.get_running_loop()
        while not await self._ask(self._taking(key, turn)):
            left = deadline - loop.time()
            if left <= 0:
                raise busy(key, wait_s)
            await asyncio.sleep(min(_POLL_S, left))

    async def _watch(self) -> None:
        """Notice a lost connection while a long turn runs, and take the locks again."""
        while True:
            await asyncio.sleep(self._beat_s)
            try:
                await self._ask(self._listen)
            except StoreError:
                # The next beat may succeed, and the journal guards the commit anyway.
                _log.warning("session_locks_lost", exc_info=True)

    async def _give_back(self, key: SessionKey) -> None:
        def job(asked_at: float) -> None:
            # First, so that it is not taken again should the connection be lost just now.
            self._wanted.pop(key, None)
            if key in self._held:
                self._persist(self._let_go, asked_at)

        try:
            # A task of its own would be cancelled by an event loop that ends.
            await asyncio.shield(self._begun(job))
        except StoreError:
            # The turn is over and its result stands; the next connection ends the lost one.
            _log.warning("session_lock_not_returned session=%s", key.session, exc_info=True)

    async def _ask(self, work: Callable[[Connection], T]) -> T:
        return await self._run(lambda asked_at: self._persist(work, asked_at))

    async def _run(self, job: Callable[[float], T]) -> T:
        """Run a job on the one thread that uses the connection; it gets the time of the call."""
        return await self._begun(job)

    def _begun(self, job: Callable[[float], T]) -> "asyncio.Future[T]":
        with self._mutex:
            if self._closed:
                raise StoreError(f"{self._database.server} was closed by this program")
            if self._executor is None:
                self._executor = ThreadPoolExecutor(1, thread_name_prefix="postgres-lock")
            executor = self._executor
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(executor, job, time.monotonic())

    def _persist(self, work: Callable[[Connection], T], asked_at: float) -> T:
        deadline = self._patience.deadline(asked_at)
        while True:
            try:
                result = work(self._connection or self._connect())
            except psycopg.Error as error:
                lost = is_lost(error)
                if lost and self._connection is None:
                    self._looked_at = time.monotonic()
                elif lost:
                    self._lose()
                if not lost or time.monotonic() >= deadline:
                    told = store_error(error, self._database.server)
                    if lost and isinstance(told, StoreError):
                        self._patience.given_up(told)
                    raise told from error
                time.sleep(_PAUSE_S)
            else:
                # Not now: work that asked nothing, such as another turn's beat, heard nothing.
                if self._connection is not None:
                    self._looked_at = max(self._looked_at, self._connection.heard_at)
                self._patience.answered()
                return result

    def _connect(self) -> Connection:
        """A new connection, on which the locks of the running turns are taken again."""
        if self._closed:
            # Work that was queued behind the end: nobody would close the connection.
            raise StoreError(f"{self._database.server} was closed by this program")
        connection = self._database.connect()
        # Its statements are short, and a backend that holds locks is ended by `move` alone.
        connection.asks = False
        self._connection = connection
        self._let_owners_first(connection)
        self._move(connection)
        return connection

    def _let_owners_first(self, connection: Connection) -> None:
        """Take no other session for a while when all processes may have lost theirs just now."""
        grace_s = _BEATS_OF_GRACE * self._beat_s
        now = time.monotonic()
        if self._lost and may_be_untaken(
            connection, self._lost, silent_s=now - self._looked_at, within_s=grace_s
        ):
            self._owners_first_until = now + grace_s

    def _move(self, connection: Connection) -> None:
        """Take what is missing, from connections of this process that the server still has."""
        missing = self._wanted.keys() - self._held
        if not missing and not self._lost:
            return
        self._held |= move(connection, self._lost, missing)
        self._lost.clear()
        for key in missing - self._held:
            _log.warning("session_lock_lost session=%s", key.session)

    def _lose(self) -> None:
        """Let go of a connection that does not work; the server may take it for alive."""
        if self._connection is not None:
            self._lost.append(self._connection.backend)
        self._disconnect()

    def _disconnect(self) -> None:
        self._held.clear()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _let_go(self, connection: Connection) -> None:
        """Give back what no turn holds any more."""
        for key, turn in tuple(self._wanted.items()):
            if turn.is_over:
                del self._wanted[key]
        for key in tuple(self._held - self._wanted.keys()):
            give_back(connection, key)
            self._held.discard(key)

    def _taking(self, key: SessionKey, turn: Turn) -> Callable[[Connection], bool]:
        def work(connection: Connection) -> bool:
            if self._lost:
                self._move(connection)
            if key not in self._held and (
                time.monotonic() < self._owners_first_until or not take(connection, key)
            ):
                return False
            self._wanted[key] = turn
            self._held.add(key)
            self._let_go(connection)
            return True

        return work

    def _asked(self, key: SessionKey) -> Callable[[Connection], bool]:
        """Whether the session is held, by a connection that answers."""

        def work(connection: Connection) -> bool:
            if key in self._held:
                connection.execute("SELECT 1")
            else:
                self._move(connection)
            return key in self._held

        return work

    def _listen(self, connection: Connection) -> None:
        if time.monotonic() - self._looked_at >= self._beat_s:
            connection.execute("SELECT 1")
        self._move(connection)
        self._let_go(connection)
