"""Check the data directory, the disk and the databases. Leaves no files behind."""

import asyncio
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from acc_ace.cli.checks.installation import CheckResult, note, ok, problem
from acc_ace.config import Settings
from acc_ace.errors import ConfigError, StoreError
from acc_ace.hooks import STORES, only
from acc_ace.storage.sql_database import check_version
from acc_ace.storage.sql_rows import Rows
from acc_ace.storage.sqlite.artifact_writes import SqliteRows
from acc_ace.storage.sqlite.database import DATABASE_FILE
from acc_ace.storage.sqlite.failures import damage, store_error
from acc_ace.storage.sqlite.migration import check_present

T = TypeVar("T")

ENOUGH_BYTES = 200 * 1024 * 1024
"""Minimum free disk space, in bytes."""

_WAIT_S = 2.0
"""Seconds to wait for a database locked by another process."""


def check_data_dir(settings: Settings) -> CheckResult:
    """Whether the data directory is writable or can be created."""
    if settings.store == "memory":
        return note(
            "data_dir",
            "nothing is saved: ACC_ACE_STORE=memory",
            "set ACC_ACE_STORE=sqlite to save memory",
        )
    if settings.store == "postgres":
        return ok("data_dir", "not used: ACC_ACE_STORE=postgres")
    return _check_folder(settings.data_dir.absolute())


def _check_folder(path: Path) -> CheckResult:
    if (unseen := why_inaccessible(path)) is not None:
        detail = f"{path} cannot be accessed: {unseen}"
        return problem("data_dir", detail, "grant this user access, or change ACC_ACE_DATA_DIR")
    nearest = _nearest(path)
    fix = "make it writable for this user, or change ACC_ACE_DATA_DIR"
    if not nearest.is_dir():
        return problem("data_dir", f"{nearest} is not a folder", "change ACC_ACE_DATA_DIR")
    if not os.access(nearest, os.W_OK | os.X_OK):
        return problem("data_dir", f"{nearest} is not writable", fix)
    if nearest == path:
        return ok("data_dir", str(path))
    if (reason := _why_not_made(nearest)) is not None:
        detail = f"cannot create a folder in {nearest}: {reason}"
        return problem("data_dir", detail, "change ACC_ACE_DATA_DIR")
    return ok("data_dir", f"{path}, created at the first turn")


def check_disk(settings: Settings, *, enough: int = ENOUGH_BYTES) -> CheckResult:
    """Whether the disk of the data directory has enough free space."""
    free = shutil.disk_usage(_nearest(settings.data_dir.absolute())).free
    shown = f"{free / 1024**2:,.0f} MiB free"
    if free >= enough:
        return ok("disk", shown)
    return problem(
        "disk",
        f"only {shown}",
        f"free {enough / 1024**2:,.0f} MiB, or move ACC_ACE_DATA_DIR to another disk",
    )


def check_databases(settings: Settings) -> Iterator[CheckResult]:
    """Whether the databases open and are intact."""
    if settings.store == "memory":
        return
    if settings.store == "postgres":
        yield _check_postgres(settings)
        return
    is_visible = why_inaccessible(settings.data_dir) is None and settings.data_dir.is_dir()
    paths = sorted(settings.data_dir.glob("*.db")) if is_visible else []
    try:
        if is_visible:
            check_present(settings.data_dir / DATABASE_FILE)
    except StoreError as error:
        yield _complaint(error)
        return
    if not paths:
        yield ok("database", "not created yet")
    for path in paths:
        yield _check_database(path)


def from_memory(settings: Settings, query: Callable[[Rows], T]) -> T | None:
    """What a query finds in the memory, read-only; None without one, or of an earlier schema.

    Database errors have their own finding.
    """
    path = settings.data_dir.absolute() / DATABASE_FILE
    try:
        if settings.store == "postgres":
            return asyncio.run(_from_postgres(settings, query))
        if settings.store == "memory" or not path.is_file():
            return None
        uri = f"file:{quote(str(path))}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=_WAIT_S)) as connection:
            return query(SqliteRows(connection))
    except (sqlite3.Error, UnicodeDecodeError, StoreError, ConfigError):
        return None


async def _from_postgres(settings: Settings, query: Callable[[Rows], T]) -> T:
    stores = only(STORES, "ACC_ACE_STORE=postgres")
    database = stores.open_database(settings.model_copy(update={"database_wait_s": 0.0}))
    try:
        result: T = await database.read(query)
    finally:
        await database.close()
    return result


def _check_postgres(settings: Settings) -> CheckResult:
    """Whether the server answers with our schema; an empty database gets the schema."""
    try:
        database = only(STORES, "ACC_ACE_STORE=postgres").open_database(
            settings.model_copy(update={"database_wait_s": 0.0})
        )
        asyncio.run(_ask(database.check, database.close))
    except ConfigError as error:
        return problem("database", str(error), "fix the setting, or set ACC_ACE_STORE=sqlite")
    except StoreError as error:
        return _complaint(error)
    return ok("database", f"{database.server} answers")


async def _ask(*questions: Callable[[], Awaitable[None]]) -> None:
    for question in questions:
        await question()


def _check_database(path: Path) -> CheckResult:
    uri = f"file:{quote(str(path.absolute()))}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=_WAIT_S)) as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            complaints = connection.execute("PRAGMA quick_check(1)").fetchall()
    except sqlite3.Error as error:
        return _complaint(store_error(error, path))
    except UnicodeDecodeError as error:
        return _complaint(damage(error, path))
    if path.name == DATABASE_FILE:
        try:
            check_version(version, f"database {path}", "ACC_ACE_DATA_DIR")
        except StoreError as error:
            return _complaint(error)
    if complaints != [("ok",)]:
        return problem("database", f"{path}: {complaints[0][0]}", _RESTORE)
    return ok("database", f"{path.name} is intact, schema version {version}")


def _complaint(error: StoreError) -> CheckResult:
    """Split a store error, 'problem; fix', into a finding."""
    detail, _, fix = str(error).partition("; ")
    return problem("database", detail, fix or _RESTORE)


_RESTORE = "restore it from a backup, or move it away to start with an empty memory"


def why_inaccessible(path: Path) -> str | None:
    """Why the path's existence cannot be checked; None if it can."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return error.strerror or str(error)
    return None


def _nearest(path: Path) -> Path:
    """The path itself, or its nearest existing parent."""
    each = (path, *path.parents)
    return next((one for one in each if why_inaccessible(one) is None and one.exists()), path)


def _why_not_made(folder: Path) -> str | None:
    """Why nothing can be created in the folder. Tries it: /proc looks writable but is not."""
    try:
        Path(tempfile.mkdtemp(prefix=".acc-ace-doctor-", dir=folder)).rmdir()
    except OSError as error:
        return error.strerror or str(error)
    return None
