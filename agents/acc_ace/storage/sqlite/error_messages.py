"""Say what is wrong with a database, and how to mend it."""

import sqlite3
from pathlib import Path

from acc_ace.errors import CorruptStoreError, StoreError

_FIXES: dict[int, str] = {
    sqlite3.SQLITE_BUSY: "is locked by another process; stop it or try again",
    sqlite3.SQLITE_LOCKED: "is locked by another connection; try again",
    sqlite3.SQLITE_READONLY: "cannot be written; make the file and its directory writable",
    sqlite3.SQLITE_PERM: "must not be accessed; make the file and its directory writable",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that ACC_ACE_DATA_DIR is a directory "
    "that you may write to",
    sqlite3.SQLITE_FULL: "cannot grow, the disk or quota is full; free some space and try again",
    sqlite3.SQLITE_IOERR: "cannot be read or written; check the disk",
}
_CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def store_error(error: sqlite3.Error, path: Path) -> StoreError:
    """The StoreError that names the database, what is wrong and the fix."""
    # The low byte is the primary code; the rest tells the variant apart.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _CORRUPT:
        return CorruptStoreError(
            f"database {path} is damaged ({error}); move it away to start anew, or restore a copy"
        )
    if "no such module: fts5" in str(error):
        return StoreError("this Python's SQLite has no FTS5; use a build that has it")
    return StoreError(f"database {path} {_FIXES.get(code, 'failed')} ({error})")
