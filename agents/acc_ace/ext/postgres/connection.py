"""Connections to PostgreSQL: URL, time limits, and error messages.

No statement waits for ever, and no message contains a password.
"""

import re
import time
from collections.abc import Generator
from math import ceil
from typing import Any, Final, TypeVar
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from acc_ace.errors import ConfigError, CorruptStoreError, InputError, StoreError

T = TypeVar("T")

STATEMENT_S: Final = 15.0
"""Statement timeout of the server, in seconds."""

_MARGIN_S = 5.0
"""Extra time for a reply after the server's own timeout; later ones will never arrive."""

_CONNECT_S = (2, 5)
"""Bounds of the connect timeout: the driver's minimum, and enough for any server."""


class SilentError(psycopg.OperationalError):
    """The server did not reply in time; the connection is closed."""


def network(wait_s: float) -> dict[str, Any]:
    """Time limits for the driver and the network."""
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
    """A connection whose statements time out even if the server stops responding."""

    longest_s = STATEMENT_S + _MARGIN_S

    def allow(self, statement_s: float) -> None:
        """Set the statement timeout in seconds; 0 for none."""
        self.execute(f"SET statement_timeout = {round(statement_s * 1_000)}".encode())
        self.longest_s = statement_s + _MARGIN_S if statement_s else float("inf")

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:  # noqa: ANN401
        """Wait for a reply. Closes the connection and raises SilentError on a timeout."""
        try:
            return super().wait(self._bounded(gen), *args, **kwargs)
        except SilentError:
            self.close()
            raise

    def _bounded(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        """The same exchange, with a deadline checked on each idle wait of the driver."""
        heard = time.monotonic()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                now = time.monotonic()
                if ready:
                    heard = now
                elif now - heard >= self.longest_s:
                    raise SilentError(f"the server did not reply for {now - heard:.3g} s")
                wanted = gen.send(ready)
        except StopIteration as done:
            result: T = done.value
            return result


_SCHEMES: Final = ("postgresql://", "postgres://")
_ENCODE: Final = (
    "percent-encode special characters in the password (/ as %2F, @ as %40, ? as %3F, % as %25), "
    "or leave the password out and set PGPASSWORD"
)
_NAME: Final = re.compile(r"[?&]([^?&=]*)=")


def server_name(url: str) -> str:
    """The server for messages: host, port and database, without user and password.

    Raises ConfigError for an invalid URL, or one in which the password or a part of the query
    would be parsed as host, port or database.
    """
    if _is_ambiguous(url):
        raise ConfigError(
            "ACC_ACE_DATABASE_URL has an @ or a query where the host or the database should be; "
            f"{_ENCODE}; start the query with /? after the host"
        )
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # The driver's message is left out: it quotes the URL, maybe with the password.
        raise ConfigError(
            "ACC_ACE_DATABASE_URL is not a PostgreSQL URL; write it as "
            f"postgresql://user:password@host:5432/database, and {_ENCODE}"
        ) from None
    host, port = parts.get("host") or "localhost", parts.get("port") or "5432"
    return f"PostgreSQL at {host}:{port}/{parts.get('dbname') or ''}"


def with_encoded_query(url: str) -> str:
    """The same URL for parsers that treat an @ in its query as the end of the credentials."""
    begin, server, query = _split(url)
    return begin + server + query.replace("@", "%40")


def _is_ambiguous(url: str) -> bool:
    """Whether host or path contain an @, or query parameters would be parsed as another part.

    If a query follows the host directly, an @ in it ends the credentials for the driver, and the
    text after it, maybe a password, is parsed as host and database.
    """
    if not url.startswith(_SCHEMES):
        return False
    begin, server, _ = _split(url)
    return "@" in server or bool(_names(begin + server) & _parameters())


def _names(text: str) -> set[str]:
    """The names of query parameters in a text."""
    return {unquote(name) for name in _NAME.findall(text)}


def _parameters() -> set[str]:
    return {option.keyword.decode() for option in Conninfo.get_defaults()} | {"ssl"}


def _split(url: str) -> tuple[str, str, str]:
    """Split a URL as the driver does: up to the credentials' @, host and path, query."""
    scheme = next((scheme for scheme in _SCHEMES if url.startswith(scheme)), None)
    if scheme is None:
        return url, "", ""
    # User and password may contain a question mark, but no slash.
    user, at, _ = url.removeprefix(scheme).partition("/")[0].partition("@")
    begin = scheme + user + at if at else scheme
    server, mark, query = url.removeprefix(begin).partition("?")
    return begin, server, mark + query


_SETTING = "ACC_ACE_DATABASE_URL"
_SILENT = (
    f"does not answer; look at its load and at the network to it, or correct {_SETTING} "
    "(ACC_ACE_DATABASE_WAIT_S is how long to try)"
)

_CONNECTING: tuple[tuple[str, str], ...] = (
    ("password authentication failed", f"refuses the password; check user and password in "
     f"{_SETTING}"),
    ("no password supplied", f"requires a password; put one into {_SETTING} or PGPASSWORD"),
    ("no pg_hba.conf entry", "rejects this machine; allow it in pg_hba.conf, or set "
     f"sslmode=require in {_SETTING}"),
    ("does not exist", f"has no such database or user; create it, or correct {_SETTING}"),
    ("too many connections", "has no connection left for this user; raise its limit or lower "
     "ACC_ACE_DATABASE_CONNECTIONS"),
    ("too many clients", "has no connection left; raise max_connections or lower "
     "ACC_ACE_DATABASE_CONNECTIONS"),
    ("remaining connection slots", "has no connection left; raise max_connections or lower "
     "ACC_ACE_DATABASE_CONNECTIONS"),
    ("could not translate host name", f"is not found by name; check the host in {_SETTING}"),
    ("failed to resolve host", f"is not found by name; check the host in {_SETTING}"),
    ("not yet accepting connections", "is still starting; try again in a moment"),
    ("starting up", "is still starting; try again in a moment"),
    ("shutting down", "is shutting down; try again when it is back"),
    ("did not reply", _SILENT),
    ("timeout expired", _SILENT),
    ("timed out", _SILENT),
)  # fmt: skip
_HOPELESS = 4
"""The first entries, for which a retry is useless."""

_FULL = ("too many connections", "too many clients", "remaining connection slots")

_WORKING: dict[str, str] = {
    "25006": f"is a read-only standby; point {_SETTING} to the primary",
    "42501": "denies the user this operation; grant access to the schema acc_ace",
    "42P01": "is missing one of our tables; restore the schema acc_ace from a copy",
    "42703": "is missing one of our columns; restore the schema acc_ace from a copy",
    "53100": "has no disk space left; free some and try again",
    "53200": "is out of memory; lower ACC_ACE_DATABASE_CONNECTIONS or give it more",
    "53300": "has no connection left; raise max_connections or lower ACC_ACE_DATABASE_CONNECTIONS",
    "55P03": "has a row locked by another writer; try again",
    "57014": "took too long; try again, and look at its load",
}
_DAMAGED = ("XX001", "XX002")

_BROKEN = ("57P01", "57P02", "57P03", "57P05", "08000", "08001", "08003", "08004", "08006")
"""The server closed or rejected the connection: worth a retry."""

_RACED = ("40001", "40P01", "23505", "23503")
"""Lost a race against another transaction: a retry sees that one's result."""


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection was lost, so that a new one may succeed."""
    if error.sqlstate is not None:
        return error.sqlstate in _BROKEN
    text = str(error).casefold()
    if any(words in text for words, _ in _CONNECTING[:_HOPELESS]):
        return False
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


def is_raced(error: psycopg.Error) -> bool:
    """Whether the transaction lost a race and can be retried at once."""
    return error.sqlstate in _RACED


def store_error(error: psycopg.Error, server: str) -> StoreError | InputError:
    """The error that names the server, the problem and the fix."""
    state = error.sqlstate or ""
    detail = _first_line(error)
    if state in _DAMAGED:
        return CorruptStoreError(
            f"{server} has damaged data ({detail}); restore the database from a copy"
        )
    if isinstance(error, psycopg.DataError):
        return InputError(f"this text cannot be stored: {detail}")
    return StoreError(f"{server} {_WORKING.get(state) or _connecting(error)} ({detail})")


def _connecting(error: psycopg.Error) -> str:
    text = str(error).casefold()
    for words, fix in _CONNECTING:
        if words in text:
            return fix
    if is_lost(error):
        return f"cannot be reached; start it, or correct {_SETTING}"
    return "failed"


def _first_line(error: psycopg.Error) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
