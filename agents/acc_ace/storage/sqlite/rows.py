"""Rows of a SQLite connection."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from acc_ace.storage.sql_rows import Dialect


class SqliteRows:
    """Rows of a SQLite connection. Whoever writes has the file to itself."""

    dialect: Dialect = "sqlite"
    lock = ""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def take_time(self) -> None:
        """Nothing: no statement is ended for its time."""

    def all(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Every row of a SELECT."""
        return self.connection.execute(statement, values).fetchall()

    def one(self, statement: str, values: Sequence[object] = ()) -> tuple[Any, ...] | None:
        """The first row of a SELECT or of a RETURNING, or None."""
        rows = self.all(statement, values)
        return rows[0] if rows else None

    def run(self, statement: str, values: Sequence[object] = ()) -> int:
        """Run a statement; how many rows it changed."""
        return self.connection.execute(statement, values).rowcount

    def many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement for each row of values."""
        self.connection.executemany(statement, rows)
