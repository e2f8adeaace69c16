"""Say what is wrong with a PostgreSQL server, and how to mend it. No message holds a password."""

import psycopg

from acc_ace.errors import CorruptStoreError, InputError, StoreError

_SETTING = "ACC_ACE_DATABASE_URL"
_SILENT = (
    f"does not answer; look at its load and at the network to it, or correct {_SETTING} "
    "(ACC_ACE_DATABASE_WAIT_S is how long to try)"
)

_CONNECTING: tuple[tuple[str, str], ...] = (
    ("password authentication failed", f"refuses the password; check user and password in "
     f"{_SETTING}"),
    ("no password supplied", f"wants a password; put one into {_SETTING} or PGPASSWORD"),
    ("no pg_hba.conf entry", "does not let this machine in; allow it in pg_hba.conf, or ask for "
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
    ("said nothing", _SILENT),
    ("timeout expired", _SILENT),
    ("timed out", _SILENT),
)  # fmt: skip
_HOPELESS = 4
"""The first so many of these will be the same at the next try."""

_FULL = ("too many connections", "too many clients", "remaining connection slots")

_WORKING: dict[str, str] = {
    "25006": f"takes no writes, it is a standby; point {_SETTING} to the primary",
    "42501": "does not allow this to the user; grant it the schema acc_ace",
    "42P01": "lost a table of ours; restore the schema acc_ace from a copy",
    "42703": "lost a column of ours; restore the schema acc_ace from a copy",
    "53100": "has no disk space left; free some and try again",
    "53200": "is out of memory; lower ACC_ACE_DATABASE_CONNECTIONS or give it more",
    "53300": "has no connection left; raise max_connections or lower ACC_ACE_DATABASE_CONNECTIONS",
    "55P03": "keeps a row locked for another writer; try again",
    "57014": "took too long; try again, and look at its load",
}
_DAMAGED = ("XX001", "XX002")

_BROKEN = ("57P01", "57P02", "57P03", "57P05", "08000", "08001", "08003", "08004", "08006")
"""The server ends the connection, or does not take one now: worth another try."""

_RACED = ("40001", "40P01", "23505", "23503")
"""Another transaction was faster: run again, this one sees what the other one left."""


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection is gone, so that another one may do better."""
    if error.sqlstate is not None:
        return error.sqlstate in _BROKEN
    text = str(error).casefold()
    if any(words in text for words, _ in _CONNECTING[:_HOPELESS]):
        return False
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


def is_full(error: psycopg.Error) -> bool:
    """Whether the server answers, and has no connection left."""
    text = str(error).casefold()
    return error.sqlstate == "53300" or any(words in text for words in _FULL)


def is_raced(error: psycopg.Error) -> bool:
    """Whether the transaction lost against another one, and can be run again at once."""
    return error.sqlstate in _RACED


def store_error(error: psycopg.Error, server: str) -> StoreError | InputError:
    """The error that names the server, what is wrong and the fix."""
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
