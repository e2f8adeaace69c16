"""Errors of SQLite as ours: the database, the problem and the fix."""

import sqlite3
from pathlib import Path
from typing import Final

from acc_ace.errors import CorruptStoreError, StoreError

_FIXES: Final[dict[int, str]] = {
    sqlite3.SQLITE_BUSY: "is locked by another process; stop it or try again",
    sqlite3.SQLITE_LOCKED: "is locked by another connection; try again",
    sqlite3.SQLITE_READONLY: "cannot be written; make the file and its directory writable",
    sqlite3.SQLITE_PERM: "cannot be accessed; make the file and its directory writable",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that ACC_ACE_DATA_DIR is a directory "
    "that you may write to",
    sqlite3.SQLITE_FULL: "cannot grow, the disk or quota is full; free some space and try again",
    sqlite3.SQLITE_IOERR: "cannot be read or written; check the disk",
}
_CORRUPT: Final = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_DAMAGED: Final = ("Could not decode", "no such table", "no such column", "no such index")
"""Of a schema that this program has made, or of text that it has stored."""


def store_error(error: sqlite3.Error, path: Path) -> StoreError:
    """The StoreError that names the database, the problem and the fix."""
    if "no such module: fts5" in str(error):
        return StoreError("this Python's SQLite has no FTS5; use a build that has it")
    code = _code(error)
    # `DatabaseError` itself, of no finer class, is that of a damaged file.
    if code in _CORRUPT or type(error) is sqlite3.DatabaseError or str(error).startswith(_DAMAGED):
        return damage(error, path)
    return StoreError(f"database {path} {_FIXES.get(code, 'failed')} ({error})")


def damage(error: Exception, path: Path) -> CorruptStoreError:
    """The error of a file that is damaged."""
    return CorruptStoreError(
        f"database {path} is damaged ({error}); restore a copy, or, to start over, move "
        f"{path.parent} away"
    )


def is_busy(error: BaseException | None) -> bool:
    """Whether another process has the lock, so that a retry may get it."""
    return isinstance(error, sqlite3.Error) and _code(error) == sqlite3.SQLITE_BUSY


def _code(error: sqlite3.Error) -> int:
    """The primary code, which is the low byte; the rest is the extended code."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
