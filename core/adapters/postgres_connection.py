"""A connection to PostgreSQL on which no statement waits for ever.

TCP alone does not tell of a server that is gone: a firewall that dropped the flow or a proxy that
hangs leaves a statement without answer and without error. So whoever waits asks, after a silence,
over a second connection whether the server is still at work on the statement. If it is, the wait
goes on, to the limit that the server sets for a statement. If it is not, or does not answer
either, the connection is closed and counts as lost.
"""

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple, TypeVar

import psycopg
from psycopg.abc import AdaptContext

from core.adapters.postgres_errors import is_full
from core.adapters.postgres_schema import Connection

T = TypeVar("T")

_CONNECT_S = (2, 5)
"""The driver waits no shorter than the first; the second is long enough for any server."""

_SILENCE_S = (0.5, 5.0)
"""The shortest and the longest silence after which a server is asked whether it is at work."""

_LONGEST_S = 75.0
"""A statement, whatever the server says of it; its own limit (60 s) comes first."""


class Backend(NamedTuple):
    """The process of the server that serves a connection: process ids are given again."""

    pid: int
    started: str


class SilentError(psycopg.OperationalError):
    """The server has said nothing for too long; the connection is closed."""


@dataclass(frozen=True)
class Address:
    """Where the server is, and how long its silence is borne before it is looked into."""

    url: str
    silence_s: float

    @property
    def network(self) -> dict[str, Any]:
        """What the driver and the network are told of how long to try."""
        shortest, longest = _CONNECT_S
        return {
            "connect_timeout": min(max(ceil(self.silence_s), shortest), longest),
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": max(ceil(self.silence_s * 1_000), 1_000),
        }

    def connect(self, *, context: AdaptContext | None = None) -> "WatchedConnection":
        """A new connection in autocommit; blocks for ten seconds at most. Raises psycopg.Error.

        `context` tells how values are read and written, as the driver does it by default.
        """
        connection = WatchedConnection.connect(
            self.url,
            autocommit=True,
            context=context,
            application_name="acc-ace",
            **self.network,
        )
        connection.address = self
        return connection


def silence_of(patience_s: float) -> float:
    """How long silence is borne by those who wait that long for a server that is away."""
    shortest, longest = _SILENCE_S
    # After half of the patience there is still time for another connection.
    return min(max(patience_s / 2, shortest), longest)


class WatchedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose statements end also when the server has gone silent."""

    address: Address | None = None
    asks = False
    """Whether a silent server is asked about; without it silence ends the connection at once."""

    heard_at = 0.0
    """When the server last answered, by the monotonic clock."""

    _limit_s: float | None = _LONGEST_S
    _backend: Backend | None = None

    @property
    def backend(self) -> Backend:
        """Who serves this connection, also behind a pooler. Asks the server once."""
        if self._backend is None:
            row = self.execute(
                "SELECT pid, extract(epoch FROM backend_start)::text FROM pg_stat_activity "
                "WHERE pid = pg_backend_pid()"
            ).fetchone()
            if row is None:
                raise psycopg.OperationalError("the server does not know its own process")
            self._backend = Backend(*row)
        return self._backend

    def unlimited(self, work: Callable[[], T]) -> T:
        """Run statements that may take as long as the server works on them."""
        self._limit_s = None
        try:
            return work()
        finally:
            self._limit_s = _LONGEST_S

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:  # noqa: ANN401
        """Wait for an answer. Raises SilentError, the connection closed, when none will come."""
        try:
            return super().wait(self._watched(gen), *args, **kwargs)
        except SilentError:
            self.close()
            raise

    def _watched(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        """The same exchange, with a look at the clock whenever the driver has waited in vain."""
        began = heard = time.monotonic()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if ready:
                    heard = time.monotonic()
                elif self.address and time.monotonic() - heard >= self.address.silence_s:
                    self._look(self.address, time.monotonic() - began)
                    heard = time.monotonic()
                wanted = gen.send(ready)
        except StopIteration as done:
            self.heard_at = time.monotonic()
            result: T = done.value
            return result

    def _look(self, address: Address, waited_s: float) -> None:
        """Raise SilentError unless the server is at work for this connection."""
        expired = self._limit_s is not None and waited_s >= self._limit_s
        if expired or not self.asks or not _is_working(address, self.backend):
            raise SilentError(f"the server said nothing for {waited_s:.3g} s")


def _is_working(address: Address, backend: Backend) -> bool:
    """Whether the server works on a statement of the backend; ends one that only waits for us.

    What it has begun would keep its locks otherwise, and a late COMMIT could still reach it.
    """
    try:
        with address.connect() as other:
            row = _ask(other, "state", backend)
            if row is None:
                return False
            waits = str(row[0]).startswith("idle")
            if waits:
                _ask(other, "pg_terminate_backend(pid)", backend)
            return not waits
    except psycopg.Error as error:
        # A server that has no room for the question is there, and busy.
        return is_full(error)


def _ask(connection: Connection, what: str, backend: Backend) -> tuple[Any, ...] | None:
    query = (
        f"SELECT {what} FROM pg_stat_activity "  # noqa: S608 - words of this module
        "WHERE pid = %s AND extract(epoch FROM backend_start)::text = %s"
    )
    return connection.execute(query.encode(), backend).fetchone()
