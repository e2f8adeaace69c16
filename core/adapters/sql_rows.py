"""Statements that SQLite and PostgreSQL both understand, written once."""

from collections.abc import Sequence
from typing import Any, Protocol


class Rows(Protocol):
    """A connection inside a transaction. Statements have a `?` for each value."""

    locking: str
    """What a SELECT says to keep others from changing its rows; '' where nobody else can."""

    user: str
    """The column of a user's name: `user` is a word of SQL in PostgreSQL."""

    def all(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Every row of a SELECT."""
        ...

    def run(self, statement: str, values: Sequence[object] = ()) -> int:
        """Run a statement; how many rows it changed."""
        ...

    def many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement for each row of values."""
        ...
