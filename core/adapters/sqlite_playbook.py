"""Playbooks in SQLite."""

import sqlite3

from core.adapters.clock import SystemClock
from core.adapters.sql_playbook import SqlPlaybookStore
from core.adapters.sqlite_database import SqliteDatabase
from core.adapters.sqlite_rows import SqliteRows
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
