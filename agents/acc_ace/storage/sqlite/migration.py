"""Create the schema of a SQLite file, or upgrade it behind a backup; tell a file that vanished."""

import filecmp
import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TypeVar

from acc_ace.errors import StoreError
from acc_ace.storage.private_files import make_database_file
from acc_ace.storage.sql_database import VERSION, baseline, check_version, upgrades
from acc_ace.storage.sql_rows import Rows
from acc_ace.storage.sqlite.artifact_writes import SqliteRows
from acc_ace.storage.sqlite.failures import is_busy, store_error

logger = logging.getLogger(__name__)

T = TypeVar("T")


def check_known(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StoreError for a database that cannot be upgraded, before anything of it is changed."""
    version = _version(connection)
    if version or _is_foreign(SqliteRows(connection)):
        check_version(version, f"database {path}", "ACC_ACE_DATA_DIR")


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Create the schema in an empty database, or upgrade it; StoreError where it cannot be.

    One transaction: killed inside, it leaves the old schema, and other programs wait for its end.
    """
    if _version(connection) == VERSION:
        return

    backups: list[Path] = []

    def create(rows: Rows) -> None:
        # Read again inside the transaction: another process may have been faster.
        check_known(connection, path)
        version = _version(connection)
        if version not in {0, VERSION}:
            backups.append(_backed_up(path, version))
        scripts = upgrades(version) if version else [baseline("sqlite")]
        for statement in _statements("\n".join(scripts)):
            rows.run(statement)
        rows.run(f"PRAGMA user_version = {VERSION}")

    try:
        in_transaction(connection, create, "BEGIN IMMEDIATE")
    except sqlite3.Error as error:
        if is_busy(error) or not (version := _version(connection)):
            raise
        raise StoreError(
            f"{store_error(error, path)}; it was not upgraded from schema {version} to {VERSION}, "
            "and is unchanged"
        ) from error
    for backup in backups:
        logger.warning(
            "database_upgraded file=%s to=%d backup=%s: delete the backup when all is well; what "
            "is erased later stays in it",
            path, VERSION, backup,
        )  # fmt: skip


def _backed_up(path: Path, version: int) -> Path:
    """Copy the database beside it, under the lock of the caller's transaction; where to.

    A complete copy of other content keeps its name: this one is numbered.
    """
    copy = path.with_name(f"{path.name}.schema-{version}.partial")
    try:
        copy.unlink(missing_ok=True)  # Of a program that was killed in it.
        make_database_file(copy)
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        for number in count(1):
            ending = "backup" if number == 1 else f"{number}.backup"
            backup = path.with_name(f"{path.name}.schema-{version}.{ending}")
            if not backup.exists() or filecmp.cmp(copy, backup, shallow=False):
                break
        return copy.replace(backup)
    except (OSError, sqlite3.Error) as error:
        with suppress(OSError):
            copy.unlink(missing_ok=True)
        size = 2 * sum(map(size_of, (path, _wal(path)))) / 1e6
        raise StoreError(
            f"database {path} of schema {version} is unchanged, and cannot be upgraded to "
            f"{VERSION}: its backup {copy} cannot be written ({error}); free at least "
            f"{size:.1f} MB on that disk, and make the directory writable"
        ) from error


def mark_made(path: Path) -> None:
    """Note beside a database that it was made, so that it is missed when it is gone."""
    mark = _mark(path)
    if not size_of(mark):
        # Without a mark the database works as well.
        with suppress(OSError):
            mark.touch(mode=0o600)
            mark.write_text(f"{path.name} was in use here since {datetime.now(UTC):%Y-%m-%d}\n")


def check_present(path: Path) -> None:
    """Raise StoreError for a database that was here, and is gone or empty."""
    backups = path.parent.glob(f"{path.name}.schema-*.backup")
    # First: a program that makes the database now writes into it before it leaves a trace.
    is_known = size_of(_mark(path)) or size_of(_wal(path)) or any(backups)
    if is_known and not size_of(path):
        beside = ", ".join(sorted(each.name for each in path.parent.iterdir() if each != path)[:12])
        raise StoreError(
            f"database {path} is {'empty' if path.exists() else 'gone'}, but was in use: beside it "
            f"is {beside}; put it or a copy of it back, or, to start over, move {path.parent} away"
        )


def in_transaction(connection: sqlite3.Connection, work: Callable[[Rows], T], begin: str) -> T:
    """Run work in one transaction, which `begin` starts."""
    connection.execute(begin)
    try:
        result = work(SqliteRows(connection))
        connection.execute("COMMIT")
    except BaseException:
        # SQLite rolls back automatically after some errors, such as a full disk.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result


def size_of(path: Path) -> int:
    """The size in bytes; 0 of what is not there or cannot be seen."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _mark(path: Path) -> Path:
    return path.with_suffix(".made")


def _wal(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _is_foreign(rows: Rows) -> bool:
    """Whether a file without a version has tables, made by another program."""
    return rows.one("SELECT 1 FROM sqlite_master LIMIT 1") is not None


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _statements(script: str) -> list[str]:
    """Split a script into statements; triggers contain semicolons."""
    statements, current = [], ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return statements
