"""Connections to PostgreSQL on which no statement waits for ever.

The server ends a statement that takes too long, and the network one that nobody acknowledges.
Neither ends the wait for a server that is frozen, or a proxy that hangs: so whoever waits looks at
the clock too, and closes a connection on which nothing was said for longer than a statement may
take.
"""

import time
from collections.abc import Generator
from math import ceil
from typing import Any, Final, TypeVar

import psycopg

T = TypeVar("T")

STATEMENT_S: Final = 15.0
"""How long the server works on one statement."""

_MARGIN_S = 5.0
"""An answer that is not there so long after the server must have given up will not come."""

_CONNECT_S = (2, 5)
"""The driver waits no shorter than the first; the second is long enough for any server."""


class SilentError(psycopg.OperationalError):
    """The server has said nothing for too long; the connection is closed."""


def network(wait_s: float) -> dict[str, Any]:
    """What the driver and the network are told of how long to try."""
    shortest, longest = _CONNECT_S
    seconds = min(max(ceil(wait_s / 2), shortest), longest)
    return {
        "connect_timeout": seconds,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": seconds * 1_000,
    }


class BoundedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose statements end also when the server has gone silent."""

    longest_s = STATEMENT_S + _MARGIN_S

    def allow(self, statement_s: float) -> None:
        """Let the server work so long on each statement; for ever when it is 0."""
        self.execute(f"SET statement_timeout = {round(statement_s * 1_000)}".encode())
        self.longest_s = statement_s + _MARGIN_S if statement_s else float("inf")

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:  # noqa: ANN401
        """Wait for an answer. Raises SilentError, the connection closed, when none will come."""
        try:
            return super().wait(self._bounded(gen), *args, **kwargs)
        except SilentError:
            self.close()
            raise

    def _bounded(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        """The same exchange, with a look at the clock whenever the driver has waited in vain."""
        heard = time.monotonic()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                now = time.monotonic()
                if ready:
                    heard = now
                elif now - heard >= self.longest_s:
                    raise SilentError(f"the server said nothing for {now - heard:.3g} s")
                wanted = gen.send(ready)
        except StopIteration as done:
            result: T = done.value
            return result
