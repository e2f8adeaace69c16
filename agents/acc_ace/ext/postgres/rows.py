"""Rows of a PostgreSQL connection."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import inf
from typing import Any

from acc_ace.ext.postgres.connection import BoundedConnection
from acc_ace.storage.sql_rows import Dialect


class PostgresRows:
    """Rows of a PostgreSQL connection."""

    dialect: Dialect = "postgres"
    lock = " FOR UPDATE"

    def __init__(self, connection: BoundedConnection) -> None:
        self.connection = connection

    def disable_timeout(self) -> None:
        """Remove the statement timeout for this transaction."""
        self.connection.execute("SET LOCAL statement_timeout = 0")
        self.connection.longest_s = inf

    def all(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Every row of a SELECT."""
        return self.connection.execute(_prepared(statement), values).fetchall()

    def one(self, statement: str, values: Sequence[object] = ()) -> tuple[Any, ...] | None:
        """The first row of a SELECT or of a RETURNING, or None."""
        return self.connection.execute(_prepared(statement), values).fetchone()

    def run(self, statement: str, values: Sequence[object] = ()) -> int:
        """Run a statement; return the number of changed rows."""
        return self.connection.execute(_prepared(statement), values).rowcount

    def each(self, statement: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a SELECT, one by one; the server keeps the others."""
        with self.connection.cursor(name="each") as cursor:
            yield from cursor.execute(_prepared(statement), values)

    def many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement for each row of values, in one round trip."""
        if not rows:
            return
        with self.connection.cursor() as cursor:
            cursor.executemany(_prepared(statement), rows)


@lru_cache(maxsize=256)
def _prepared(statement: str) -> bytes:
    """A statement with psycopg's placeholders. Ours use `?` only as placeholder, and no `%`."""
    return statement.replace("?", "%s").encode()
