"""Statements that SQLite and PostgreSQL both understand, and values as JSON text in a column."""

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal, Protocol, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from acc_ace.errors import CorruptStoreError, first_problem
from acc_ace.schemas.base import Value

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


V = TypeVar("V", bound=Value)


def encode(value: Value) -> str:
    """Compact JSON. Text of half surrogate pairs is escaped, so that nothing is lost."""
    try:
        return value.model_dump_json()
    except PydanticSerializationError:
        # Half a surrogate pair is no UTF-8, which is what pydantic writes.
        return json.dumps(value.model_dump(mode="json"), separators=(",", ":"))


def decode(model: type[V], text: str | bytes, *, what: str) -> V:
    """Read what `encode` wrote; raises CorruptStoreError that names `what`."""
    try:
        return model.model_validate_json(text)
    except ValueError:
        # Half a surrogate pair is no JSON for pydantic, which takes half the time otherwise.
        return _decode_slowly(model, text, what=what)


def _decode_slowly(model: type[V], text: str | bytes, *, what: str) -> V:
    try:
        return model.model_validate(json.loads(text))
    except ValueError as error:
        # From None: the trace of a ValidationError says what stands there, as the error itself.
        raise CorruptStoreError(
            f"{what} cannot be read ({problem_of(error)}); restore the database from a copy"
        ) from None


def problem_of(error: ValueError) -> str:
    """What is wrong with stored text, without what stands there: logs hold no words of users."""
    return first_problem(error) if isinstance(error, ValidationError) else str(error)
