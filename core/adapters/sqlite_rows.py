"""Rows of a SQLite connection."""

import sqlite3
from collections.abc import Sequence
from typing import Any


class SqliteRows:
    """Rows of a SQLite connection. Whoever writes has the file to itself."""

    locking = ""
    user = "user"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def all(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Every row of a SELECT."""
        return self._connection.execute(statement, values).fetchall()

    def run(self, statement: str, values: Sequence[object] = ()) -> int:
        """Run a statement; how many rows it changed."""
        return self._connection.execute(statement, values).rowcount

    def many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement for each row of values."""
        self._connection.executemany(statement, rows)
