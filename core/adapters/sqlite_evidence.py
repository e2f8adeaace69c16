"""Evidence in SQLite."""

import sqlite3

from core.adapters.sql_evidence import SqlEvidenceStore
from core.adapters.sqlite_database import SqliteDatabase
from core.adapters.sqlite_rows import SqliteRows
from schemas.tenancy import Tenant


class SqliteEvidenceStore(SqlEvidenceStore[sqlite3.Connection]):
    """An EvidenceStore in a SqliteDatabase."""

    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__(database, SqliteRows)
        self._file = database

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's interactions (of one session); how many."""
        erased = await super().erase(tenant, session)
        await self._file.scrub()
        return erased
