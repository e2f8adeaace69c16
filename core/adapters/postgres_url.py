"""Read a PostgreSQL URL, and name its server without user and password."""

from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from core.errors import ConfigError

_SCHEMES: Final = ("postgresql://", "postgres://")
_ENCODE: Final = (
    "percent-encode what is special in the password (/ as %2F, @ as %40, ? as %3F, % as %25), or "
    "leave the password out and set PGPASSWORD"
)


def server_name(url: str) -> str:
    """The server as messages name it: host, port and database, no user and no password.

    Raises ConfigError for a URL that cannot be read, or whose password would be read as a host or
    a database.
    """
    if _is_cut_wrongly(url):
        raise ConfigError(
            "ACC_ACE_DATABASE_URL has an @ where the host or the database should be; " + _ENCODE
        )
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # The driver's words are left out: they quote the URL, and may quote the password.
        raise ConfigError(
            "ACC_ACE_DATABASE_URL is not a PostgreSQL URL; write it as "
            f"postgresql://user:password@host:5432/database, and {_ENCODE}"
        ) from None
    host, port = parts.get("host") or "localhost", parts.get("port") or "5432"
    return f"PostgreSQL at {host}:{port}/{parts.get('dbname') or ''}"


def with_encoded_query(url: str) -> str:
    """The same URL for programs that take an @ in its query for the end of user and password."""
    begin, server, query = _cut(url)
    return begin + server + query.replace("@", "%40")


def _is_cut_wrongly(url: str) -> bool:
    """Whether an @ stands in host or path, or ends a query; within the query one may be right."""
    begin, server, _ = _cut(url)
    return "@" in server or "password=" in begin.partition("?")[2]


def _cut(url: str) -> tuple[str, str, str]:
    """A URL as the driver cuts it: up to the @ behind a user, host and path, the query."""
    scheme = next((scheme for scheme in _SCHEMES if url.startswith(scheme)), None)
    if scheme is None:
        return url, "", ""
    # A user and a password may hold a question mark, but no slash.
    user, at, _ = url.removeprefix(scheme).partition("/")[0].partition("@")
    begin = scheme + user + at if at else scheme
    server, mark, query = url.removeprefix(begin).partition("?")
    return begin, server, mark + query
