"""Prove that nothing is left of an erased user in a data directory: databases and other files."""

import sqlite3
from collections.abc import Mapping
from typing import Final

from acc_ace.core.schemas.base import Tenant
from tests.fakes.residue_scan import (
    Dialect,
    Parent,
    Table,
    places,
    values,
)

_DIALECT: Final = Dialect(
    value=lambda name: f":{name}",
    contains=lambda column, value: f"instr({column}, {value}) > 0",
)
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
_DATABASES = ("*.db", "*.sqlite", "*.sqlite3")
_BESIDE_DATABASES = ("-wal", "-shm", "-journal")


def scan_residue_of(connection: sqlite3.Connection, name: str, tenant: Tenant) -> dict[str, int]:
    """Rows of one database that name the user, by 'name.table'."""
    found: dict[str, int] = {}
    for place in places(tables_of(connection), tenant, _DIALECT):
        query = f'SELECT count(*) FROM "{place.table}" WHERE {place.condition}'  # noqa: S608 - names of the schema
        (count,) = connection.execute(query, values(tenant)).fetchone()
        if count:
            found[f"{name}.{place.table}"] = count
    return found


def tables_of(connection: sqlite3.Connection) -> Mapping[str, Table]:
    """The tables of a file, as its schema describes them."""
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
        cascades=frozenset(key[2] for key in keys if key[6] == "CASCADE"),
    )
