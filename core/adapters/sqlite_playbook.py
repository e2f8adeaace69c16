"""Playbooks in SQLite."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from core.adapters.clock import SystemClock
from core.adapters.sql_playbook import SqlPlaybookStore
from core.adapters.sqlite_database import SqliteDatabase
from core.ports.clock import Clock
from core.ports.playbook_follower import PlaybookFollower
from schemas.tenancy import Tenant


class SqlitePlaybookStore(SqlPlaybookStore[sqlite3.Connection]):
    """A PlaybookStore in a SqliteDatabase."""

    def __init__(
        self,
        database: SqliteDatabase,
        clock: Clock | None = None,
        *,
        follower: PlaybookFollower | None = None,
    ) -> None:
        super().__init__(database, SqliteRows, clock or SystemClock(), follower=follower)
        self._file = database

    async def erase(self, tenant: Tenant) -> int:
        """Delete the user's own playbook and their provenance in shared ones; rows touched."""
        touched = await super().erase(tenant)
        await self._file.scrub()
        return touched


class SqliteRows:
    """Rows of a SQLite connection. Whoever writes has the file to itself."""

    locking = ""

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
