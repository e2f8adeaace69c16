"""Statements shared by SQLite and PostgreSQL, and values as JSON text in a column."""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Protocol, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from acc_ace.core.schemas.base import Value
from acc_ace.errors import CorruptStoreError, first_problem

T = TypeVar("T")

Dialect = Literal["sqlite", "postgres"]

_MAX_PAGE = 2**31 - 1


class Rows(Protocol):
    """A connection inside a transaction. Statements have a `?` for each value."""

    @property
    def dialect(self) -> Dialect:
        """The kind of the database."""
        ...

    @property
    def connection(self) -> Any:  # noqa: ANN401 - sqlite3's or psycopg's
        """The raw connection, for full text and vectors, whose SQL is database-specific."""
        ...

    @property
    def lock(self) -> str:
        """The clause by which a SELECT locks its rows; '' where a write locks the database."""
        ...

    def disable_timeout(self) -> None:
        """Remove the statement timeout for this transaction."""
        ...

    def all(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Every row of a SELECT."""
        ...

    def one(self, statement: str, values: Sequence[object] = ()) -> tuple[Any, ...] | None:
        """The first row of a SELECT or of a RETURNING, or None."""
        ...

    def run(self, statement: str, values: Sequence[object] = ()) -> int:
        """Run a statement; return the number of changed rows."""
        ...

    def each(self, statement: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a SELECT, one by one; only a few are in memory."""
        ...

    def many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement for each row of values."""
        ...


def page_size(limit: int) -> int:
    """Clamp a limit to the range that both databases accept."""
    return min(max(limit, 0), _MAX_PAGE)


def raw(rows: Rows, column: str) -> str:
    """An expression that reads a text column even if it is damaged.

    SQLite stores invalid text, and fails the whole statement that reads it as text.
    """
    return f"CAST({column} AS BLOB)" if rows.dialect == "sqlite" else column


def on_connection(work: Callable[[Any], T]) -> Callable[[Rows], T]:
    """Adapt work over a raw connection to work over rows."""
    return lambda rows: work(rows.connection)


def marks(values: Collection[object]) -> str:
    """The placeholders of an IN list; an empty one matches nothing."""
    return f"({', '.join('?' * len(values))})" if values else "(NULL)"


V = TypeVar("V", bound=Value)


def encode(value: Value) -> str:
    """Compact JSON. Lone surrogates are escaped, so that nothing is lost."""
    try:
        return value.model_dump_json()
    except PydanticSerializationError:
        # Pydantic writes UTF-8, which cannot encode lone surrogates.
        return json.dumps(value.model_dump(mode="json"), separators=(",", ":"))


def decode(model: type[V], text: str | bytes, *, what: str) -> V:
    """Read JSON of `encode`; raises a CorruptStoreError that names `what`."""
    try:
        return model.model_validate_json(text)
    except ValueError:
        # Pydantic, which is twice as fast, rejects JSON with lone surrogates.
        return _decode_slowly(model, text, what=what)


def _decode_slowly(model: type[V], text: str | bytes, *, what: str) -> V:
    try:
        return model.model_validate(json.loads(text))
    except ValueError as error:
        # From None: a ValidationError and its trace would show the content.
        raise CorruptStoreError(
            f"{what} cannot be read ({problem_of(error)}); restore the database from a copy"
        ) from None


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Raise a CorruptStoreError that names `what` where stored JSON cannot be read."""
    try:
        yield
    except (ValueError, KeyError, TypeError) as error:
        problem = problem_of(error) if isinstance(error, ValueError) else type(error).__name__
        # From None, as in `decode`.
        raise CorruptStoreError(
            f"{what} cannot be read ({problem}); restore the database from a copy"
        ) from None


def problem_of(error: ValueError) -> str:
    """The problem of a stored text without its content: logs must not contain user data."""
    return first_problem(error) if isinstance(error, ValidationError) else str(error)
