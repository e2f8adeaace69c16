"""Prove that nothing is left of an erased user in our schema of a PostgreSQL database."""

from collections.abc import Mapping
from typing import Any, Final

from psycopg import Connection

from acc_ace.core.schemas.base import Tenant
from tests.fakes.residue_scan import (
    Dialect,
    Parent,
    Table,
    app_queries,
    places,
    user_values,
    values,
)

SCHEMA: Final = "acc_ace"

_DIALECT: Final = Dialect(
    value=lambda name: f"%({name})s",
    contains=lambda column, value: f"position({value}::text IN {column}::text) > 0",
)
_COLUMNS = """
    SELECT columns.table_name, column_name, data_type
      FROM information_schema.columns JOIN information_schema.tables
           USING (table_schema, table_name)
     WHERE table_schema = %s AND table_type = 'BASE TABLE' ORDER BY 1, ordinal_position
"""
_KEYS = """
    SELECT child.relname, mine.attname, parent.relname, theirs.attname
      FROM pg_constraint AS keys
      JOIN pg_class AS child ON child.oid = keys.conrelid
      JOIN pg_class AS parent ON parent.oid = keys.confrelid
      JOIN pg_attribute AS mine ON mine.attrelid = child.oid AND mine.attnum = keys.conkey[1]
      JOIN pg_attribute AS theirs
           ON theirs.attrelid = parent.oid AND theirs.attnum = keys.confkey[1]
     WHERE keys.contype = 'f' AND keys.connamespace = %s::regnamespace
       AND array_length(keys.conkey, 1) = 1
"""
_CASCADES = """
    SELECT child.relname, parent.relname FROM pg_constraint AS keys
      JOIN pg_class AS child ON child.oid = keys.conrelid
      JOIN pg_class AS parent ON parent.oid = keys.confrelid
     WHERE keys.contype = 'f' AND keys.confdeltype = 'c' AND keys.connamespace = %s::regnamespace
"""
_TEXTS = frozenset({"text", "character varying", "json", "jsonb"})


def scan_residue(connection: Connection[Any], tenant: Tenant) -> dict[str, int]:
    """Rows that name the user, by table of our schema."""
    found: dict[str, int] = {}
    for place in places(tables_of(connection), tenant, _DIALECT):
        query = f'SELECT count(*) FROM "{place.table}" WHERE {place.condition}'  # noqa: S608 - names of the schema
        row = connection.execute(query.encode(), values(tenant)).fetchone()
        if row and row[0]:
            found[f"{SCHEMA}.{place.table}"] = row[0]
    return found


def scan_apps(connection: Connection[Any], user: str) -> set[str]:
    """The apps that hold rows of a user in our schema."""
    return {
        app
        for query in app_queries(tables_of(connection), user, _DIALECT)
        for (app,) in connection.execute(query.encode(), user_values(user)).fetchall()
    }


def tables_of(connection: Connection[Any]) -> Mapping[str, Table]:
    """The tables of our schema, as it describes them."""
    columns: dict[str, dict[str, str]] = {}
    for table, column, kind in connection.execute(_COLUMNS, (SCHEMA,)).fetchall():
        columns.setdefault(table, {})[column] = kind
    parents: dict[str, list[Parent]] = {}
    for table, column, parent, references in connection.execute(_KEYS, (SCHEMA,)).fetchall():
        parents.setdefault(table, []).append(Parent(column, parent, references))
    cascades: dict[str, set[str]] = {}
    for table, parent in connection.execute(_CASCADES, (SCHEMA,)).fetchall():
        cascades.setdefault(table, set()).add(parent)
    return {
        name: Table(
            name,
            columns=frozenset(kinds),
            texts=tuple(column for column, kind in kinds.items() if kind in _TEXTS),
            parents=tuple(parents.get(name, ())),
            cascades=frozenset(cascades.get(name, ())),
        )
        for name, kinds in columns.items()
    }
