"""One turn of a session at a time among all processes that share a database.

Within the process tasks queue for an in-process lock. The one that has it then takes a lease: a row
with an owner and an expiry, renewed while the turn runs. A process that dies leaves a lease that
expires, and on the same machine the next one sees that its owner is gone and does not wait for
that. While the owner is there to be seen, an end that has passed may be a clock that was put
forward: its lease is taken only when it has stayed unrenewed for two renewals under the eyes of who
waits, by a clock that nobody sets. A lease that ends later than one taken now would was made
before the clock was set back: it is cut to that, so that one whose owner is gone ends as any other,
and one whose owner is there is renewed. If a lease is lost (the process was stopped for longer than
it lasts), the journal's compare-and-swap still lets only one of the two turns commit.

A task that can no longer give its lease back, because its event loop was closed or the database
was away, leaves that to whoever takes the next one in this process.
"""

import asyncio
import logging
import sqlite3
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from core.adapters.lease_watch import WATCHED, Lease, LeaseWatch
from core.adapters.living_lock import Turn
from core.adapters.process_identity import is_gone, is_there, this_process
from core.adapters.session_lock import InProcessSessionLock, busy
from core.adapters.sqlite_database import SqliteDatabase
from core.errors import StoreError
from core.ports.clock import Clock
from schemas.tenancy import SessionKey, Tenant

_log = logging.getLogger(__name__)

_POLL_S = 0.1

_LEASE_S: Final = 30.0

_RENEWALS: Final = 3
"""Renewals in the time that a lease lasts."""

_RENEWALS_MISSED: Final = 2
"""After so many, whoever holds an expired lease has lost it. Less than a turn waits by default."""


class SqliteSessionLock:
    """A SessionLock among processes: an in-process queue and a lease in the database."""

    def __init__(
        self,
        database: SqliteDatabase,
        clock: Clock,
        *,
        lease_s: float = _LEASE_S,
        process: str | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """A lease lasts `lease_s` seconds after its last renewal.

        `process` is who holds the leases, as `this_process` names it; without it, this process.
        `monotonic` tells how long the leases of others have been watched.
        """
        self._database = database
        self._clock = clock
        self._lease_s = lease_s
        self._renewal_s = lease_s / _RENEWALS
        self._process = process
        self._watch = LeaseWatch(monotonic)
        self._turns: dict[str, Turn] = {}
        """By owner, until the lease is known to be given back."""
        self._local = InProcessSessionLock()

    @asynccontextmanager
    async def hold(self, key: SessionKey, *, wait_s: float) -> AsyncIterator[None]:
        """Hold the session while the context is open; SessionBusyError after `wait_s` seconds."""
        deadline = asyncio.get_running_loop().time() + wait_s
        async with self._local.turn(key, wait_s=wait_s) as turn:
            owner = f"{uuid.uuid4().hex}/{self._process or this_process()}"
            self._turns[owner] = turn
            try:
                await self._acquire(key, owner, deadline, wait_s)
                renewal = asyncio.create_task(self._renew(key, owner))
                try:
                    yield
                finally:
                    if turn.is_run:
                        renewal.cancel()
            finally:
                # From now on it is for the next one to give back, should this not come to its end.
                is_run, turn.is_lost = turn.is_run, True
                if is_run:
                    await self._give_back(key, owner)

    async def _acquire(self, key: SessionKey, owner: str, deadline: float, wait_s: float) -> None:
        loop = asyncio.get_running_loop()
        while not await self._take(key, owner):
            left = deadline - loop.time()
            if left <= 0:
                raise busy(key, wait_s)
            await asyncio.sleep(min(_POLL_S, left))

    async def _take(self, key: SessionKey, owner: str) -> bool:
        """Take or renew the lease; False while it is another owner's."""
        now = self._clock.now().timestamp()
        left = self._left()

        def work(connection: sqlite3.Connection) -> bool:
            _bring_near(connection, key, now + self._lease_s)
            connection.executemany(
                "DELETE FROM leases WHERE owner = ?", [(other,) for other in left]
            )
            lease = _lease(connection, key)
            if lease and lease.owner != owner and not self._is_over(key, lease, now):
                return False
            connection.execute(
                "INSERT INTO leases (app, user, session, owner, expires_at) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (app, user, session) DO UPDATE "
                "SET owner = excluded.owner, expires_at = excluded.expires_at",
                (*key, owner, now + self._lease_s),
            )
            return True

        taken = await self._database.write(work)
        for other in left:
            self._turns.pop(other, None)
        if taken:
            self._watch.forget(key)
        return taken

    def _left(self) -> list[str]:
        """The owners that will not give their leases back; of very many the last."""
        left = [owner for owner, turn in self._turns.copy().items() if turn.is_over]
        for owner in left[:-WATCHED]:
            self._turns.pop(owner, None)
        return left[-WATCHED:]

    def _is_over(self, key: SessionKey, lease: Lease, now: float) -> bool:
        """Whether the lease of another owner may be taken."""
        process = lease.owner.partition("/")[2]
        if is_gone(process):
            return True
        unrenewed_s = self._watch.unrenewed_s(key, lease)
        if lease.expires_at > now:
            return False
        return not is_there(process) or unrenewed_s >= _RENEWALS_MISSED * self._renewal_s

    async def _renew(self, key: SessionKey, owner: str) -> None:
        while True:
            await asyncio.sleep(self._renewal_s)
            try:
                if not await self._take(key, owner):
                    _log.warning("lease_lost session=%s", key.session)
            except StoreError:
                # The next renewal may succeed, and the journal guards the commit anyway.
                _log.warning("lease_not_renewed session=%s", key.session, exc_info=True)

    async def _give_back(self, key: SessionKey, owner: str) -> None:
        try:
            await self._database.write_to_its_end(lambda connection: _drop(connection, key, owner))
            self._turns.pop(owner, None)
        except StoreError:
            # The turn is over and its result stands.
            _log.warning("lease_not_returned session=%s", key.session, exc_info=True)


def drop_left_leases(connection: sqlite3.Connection, tenant: Tenant, *, now: float) -> int:
    """Delete a user's leases that have expired, or whose process has ended; how many.

    A process that was killed may leave one of a session that nobody knows, so nobody takes it.
    """
    leases = connection.execute(
        "SELECT session, owner, expires_at FROM leases WHERE app = ? AND user = ?", tenant
    ).fetchall()
    left = 0
    for session, owner, expires_at in leases:
        key = SessionKey(*tenant, session)
        if expires_at <= now or is_gone(owner.partition("/")[2]):
            _drop(connection, key, owner)
            left += 1
        else:
            _bring_near(connection, key, now + _LEASE_S)
    return left


def _lease(connection: sqlite3.Connection, key: SessionKey) -> Lease | None:
    row = connection.execute(
        "SELECT owner, expires_at FROM leases WHERE app = ? AND user = ? AND session = ?", key
    ).fetchone()
    return None if row is None else Lease(*row)


def _drop(connection: sqlite3.Connection, key: SessionKey, owner: str) -> None:
    connection.execute(
        "DELETE FROM leases WHERE app = ? AND user = ? AND session = ? AND owner = ?",
        (*key, owner),
    )


def _bring_near(connection: sqlite3.Connection, key: SessionKey, end: float) -> None:
    """Cut the session's lease to end no later than one that is taken now."""
    connection.execute(
        "UPDATE leases SET expires_at = ? "
        "WHERE app = ? AND user = ? AND session = ? AND expires_at > ?",
        (end, *key, end),
    )
