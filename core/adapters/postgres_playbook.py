"""Playbooks in PostgreSQL."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from core.adapters.clock import SystemClock
from core.adapters.postgres_database import PostgresDatabase
from core.adapters.postgres_schema import Connection
from core.adapters.sql_playbook import SqlPlaybookStore
from core.ports.clock import Clock
from core.ports.playbook_follower import PlaybookFollower


class PostgresPlaybookStore(SqlPlaybookStore[Connection]):
    """A PlaybookStore in a PostgresDatabase."""

    def __init__(
        self,
        database: PostgresDatabase,
        clock: Clock | None = None,
        *,
        follower: PlaybookFollower | None = None,
    ) -> None:
        super().__init__(database, PostgresRows, clock or SystemClock(), follower=follower)


class PostgresRows:
    """Rows of a PostgreSQL connection."""

    locking = " FOR UPDATE"

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
