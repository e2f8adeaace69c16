"""Statements that SQLite and PostgreSQL both understand, written once."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal, Protocol, TypeVar

T = TypeVar("T")

Dialect = Literal["sqlite", "postgres"]

_LONGEST_PAGE = 2**31 - 1


class Rows(Protocol):
    """A connection inside a transaction. Statements have a `?` for each value."""

    @property
    def dialect(self) -> Dialect:
        """Which database this is."""
        ...

    @property
    def connection(self) -> Any:  # noqa: ANN401 - sqlite3's or psycopg's
        """The connection itself, for full text and vectors, which are written per database."""
        ...

    @property
    def lock(self) -> str:
        """What a SELECT says to keep others from changing its rows; '' where nobody else can."""
        ...

    def take_time(self) -> None:
        """Let the statements of this transaction take as long as they need."""
        ...

    def all(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Every row of a SELECT."""
        ...

    def one(self, statement: str, values: Sequence[object] = ()) -> tuple[Any, ...] | None:
        """The first row of a SELECT or of a RETURNING, or None."""
        ...

    def run(self, statement: str, values: Sequence[object] = ()) -> int:
        """Run a statement; how many rows it changed."""
        ...

    def many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement for each row of values."""
        ...


def page_size(limit: int) -> int:
    """A limit that both databases take, whatever the caller asked for."""
    return min(max(limit, 0), _LONGEST_PAGE)


def raw(rows: Rows, column: str) -> str:
    """A column of text as an expression that can be read however damaged the text is.

    SQLite keeps bytes that are no text, and fails the whole statement that reads them as text.
    """
    return f"CAST({column} AS BLOB)" if rows.dialect == "sqlite" else column


def on_connection(work: Callable[[Any], T]) -> Callable[[Rows], T]:
    """Work over a bare connection as work over rows."""
    return lambda rows: work(rows.connection)


def marks(values: Collection[object]) -> str:
    """The list of an IN for so many values; nothing is in that of none."""
    return f"({', '.join('?' * len(values))})" if values else "(NULL)"
