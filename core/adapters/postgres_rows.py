"""Rows of a PostgreSQL connection."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from core.adapters.postgres_schema import Connection


class PostgresRows:
    """Rows of a PostgreSQL connection."""

    locking = " FOR UPDATE"
    user = "user_id"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def all(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Every row of a SELECT."""
        return self._connection.execute(_with_marks(statement), values).fetchall()

    def run(self, statement: str, values: Sequence[object] = ()) -> int:
        """Run a statement; how many rows it changed."""
        return self._connection.execute(_with_marks(statement), values).rowcount

    def many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement for each row of values, with one answer to wait for."""
        if not rows:
            return
        with self._connection.cursor() as cursor:
            cursor.executemany(_with_marks(statement), rows)


@lru_cache(maxsize=256)
def _with_marks(statement: str) -> bytes:
    """A statement in psycopg's form. None of ours has a `?` or a `%` that is no mark of a value."""
    return statement.replace("?", "%s").encode()
