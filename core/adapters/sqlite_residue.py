"""Prove that nothing is left of an erased user: look into every table that names users.

The tables are read from the schema of each file, so that one added later is looked into as well.
"""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from core.adapters.sqlite_errors import store_error
from schemas.tenancy import Tenant

_USER_COLUMNS = ("user", "user_id")
_APP_COLUMNS = ("app", "app_name")


async def scan_residue(directory: Path, tenant: Tenant) -> dict[str, int]:
    """Rows that name the user, by 'file.table', over all SQLite files; raises StoreError."""
    return await asyncio.to_thread(_scan, directory, tenant)


def _scan(directory: Path, tenant: Tenant) -> dict[str, int]:
    found: dict[str, int] = {}
    for path in sorted(directory.glob("*.db")):
        try:
            with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
                for table, where, values in _places(db, tenant):
                    query = f'SELECT count(*) FROM "{table}" WHERE {where}'  # noqa: S608 - names of the schema
                    (count,) = db.execute(query, values).fetchone()
                    if count:
                        found[f"{path.stem}.{table}"] = count
        except sqlite3.Error as error:
            raise store_error(error, path) from error
    return found


def _places(connection: sqlite3.Connection, tenant: Tenant) -> Iterator[tuple[str, str, list[str]]]:
    """Tables with a user column: name, condition and its values."""
    tables = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    ).fetchall()
    for (table,) in tables:
        columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
        user = next((name for name in _USER_COLUMNS if name in columns), None)
        if user is None:
            continue
        app = next((name for name in _APP_COLUMNS if name in columns), None)
        where = f'"{user}" = ?' + (f' AND "{app}" = ?' if app else "")
        yield table, where, [tenant.user, *([tenant.app] if app else [])]
