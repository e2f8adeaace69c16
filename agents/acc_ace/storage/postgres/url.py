"""Read a PostgreSQL URL, and name its server without user and password."""

import re
from typing import Final
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from acc_ace.errors import ConfigError

_SCHEMES: Final = ("postgresql://", "postgres://")
_ENCODE: Final = (
    "percent-encode what is special in the password (/ as %2F, @ as %40, ? as %3F, % as %25), or "
    "leave the password out and set PGPASSWORD"
)
_NAME: Final = re.compile(r"[?&]([^?&=]*)=")


def server_name(url: str) -> str:
    """The server as messages name it: host, port and database, no user and no password.

    Raises ConfigError for a URL that cannot be read, or of which the password or a part of the
    query would be read as a host, a port or a database.
    """
    if _is_cut_wrongly(url):
        raise ConfigError(
            "ACC_ACE_DATABASE_URL has an @ or a query where the host or the database should be; "
            f"{_ENCODE}; begin a query with /? behind the host"
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
    """Whether an @ stands in host or path, or a query would be read as anything but a query.

    An @ in a query that follows the host directly ends what is read as user and password, and
    what stands behind it, a password too, is read as host and database.
    """
    if not url.startswith(_SCHEMES):
        return False
    begin, server, _ = _cut(url)
    return "@" in server or bool(_names(begin + server) & _parameters())


def _names(text: str) -> set[str]:
    """What stands before an equals sign as the name of a parameter of a query would."""
    return {unquote(name) for name in _NAME.findall(text)}


def _parameters() -> set[str]:
    return {option.keyword.decode() for option in Conninfo.get_defaults()} | {"ssl"}


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
