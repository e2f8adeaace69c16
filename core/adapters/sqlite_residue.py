"""Prove that nothing is left of an erased user in a data directory: databases and other files."""

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from core.adapters.residue import Dialect, Parent, Table, mentions, places, values
from core.adapters.sqlite_errors import store_error
from core.errors import StoreError
from schemas.tenancy import Tenant

_DIALECT: Final = Dialect(
    value=lambda name: f":{name}",
    contains=lambda column, value: f"instr({column}, {value}) > 0",
)
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
_DATABASES = ("*.db", "*.sqlite", "*.sqlite3")
_BESIDE_DATABASES = ("-wal", "-shm", "-journal")


async def scan_residue(directory: Path, tenant: Tenant) -> dict[str, int]:
    """Rows that name the user, by 'file.table', and lines of other files; raises StoreError."""
    return await asyncio.to_thread(_scan, directory, tenant)


def _scan(directory: Path, tenant: Tenant) -> dict[str, int]:
    databases = sorted({path for pattern in _DATABASES for path in directory.rglob(pattern)})
    found: dict[str, int] = {}
    for path in databases:
        found |= _scan_database(path, tenant)
    beside = {f"{path}{suffix}" for path in databases for suffix in ("", *_BESIDE_DATABASES)}
    for path in sorted(directory.rglob("*")):
        if path.is_file() and str(path) not in beside:
            lines = _scan_file(path, tenant)
            if lines:
                found[path.relative_to(directory).as_posix()] = lines
    return found


def _scan_database(path: Path, tenant: Tenant) -> dict[str, int]:
    found: dict[str, int] = {}
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
            for place in places(_tables(db), tenant, _DIALECT):
                query = f'SELECT count(*) FROM "{place.table}" WHERE {place.condition}'  # noqa: S608 - names of the schema
                (count,) = db.execute(query, values(tenant)).fetchone()
                if count:
                    found[f"{path.stem}.{place.table}"] = count
    except sqlite3.Error as error:
        raise store_error(error, path) from error
    return found


def _scan_file(path: Path, tenant: Tenant) -> int:
    """Lines of a file, an export for example, that name the user as JSON does."""
    marks = [mention.encode("utf-8", "surrogatepass") for mention in mentions(tenant)]
    try:
        with path.open("rb") as lines:
            return sum(any(mark in line for mark in marks) for line in lines)
    except OSError as error:
        raise StoreError(f"file {path} cannot be read ({error.strerror})") from error


def _tables(connection: sqlite3.Connection) -> Mapping[str, Table]:
    return {name: _table(connection, name) for (name,) in connection.execute(_TABLES).fetchall()}


def _table(connection: sqlite3.Connection, name: str) -> Table:
    columns = connection.execute(f'PRAGMA table_info("{name}")').fetchall()
    keys = connection.execute(f'PRAGMA foreign_key_list("{name}")').fetchall()
    return Table(
        name,
        columns=frozenset(column[1] for column in columns),
        # SQLite keeps text in a column of any type, bytes aside.
        texts=tuple(column[1] for column in columns if "BLOB" not in column[2].upper()),
        parents=tuple(Parent(key[3], key[2], key[4]) for key in keys if key[4]),
    )
