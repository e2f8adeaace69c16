"""Artifacts in SQLite, found through FTS5."""

import sqlite3
from collections.abc import Sequence

from core.adapters.json_codec import encode
from core.adapters.sql_artifacts import SqlArtifactStore
from core.adapters.sql_dense import SqlDense
from core.adapters.sqlite_artifact_rows import SqliteArtifactRows
from core.adapters.sqlite_artifact_writing import ArtifactRow, insert_row, tenant_id
from core.adapters.sqlite_database import SqliteDatabase
from core.domain.ranking import DEFAULT_WEIGHTS
from core.domain.search_terms import index_terms
from schemas.artifact import Artifact
from schemas.recall_weights import RecallWeights
from schemas.tenancy import SessionKey, Tenant


class SqliteArtifactStore(SqlArtifactStore[sqlite3.Connection, SqliteArtifactRows]):
    """An ArtifactStore in a SqliteDatabase."""

    def __init__(
        self,
        database: SqliteDatabase,
        *,
        weights: RecallWeights = DEFAULT_WEIGHTS,
        dense: SqlDense[SqliteArtifactRows] | None = None,
    ) -> None:
        """Search by words, and by meaning too where there is `dense`."""
        super().__init__(database, SqliteArtifactRows, weights=weights, dense=dense)
        self._file = database

    async def add(self, artifacts: Sequence[Artifact]) -> None:
        """Store artifacts, all or none; one whose id is known to the tenant replaces it."""
        rows = [ArtifactRow(item, index_terms(item.content), encode(item)) for item in artifacts]

        def work(connection: sqlite3.Connection) -> None:
            for row in rows:
                insert_row(connection, row)

        if rows:
            await self._database.write(work)
            self._fill()

    async def retire(self, key: SessionKey, after_turn: int) -> int:
        """Hide the session's artifacts of turns later than `after_turn` from recall; how many."""

        def work(connection: sqlite3.Connection) -> int:
            return connection.execute(
                "UPDATE artifacts SET retired = 1 "
                "WHERE tenant = ? AND session = ? AND turn > ? AND NOT retired",
                (tenant_id(connection, key.tenant), key.session, after_turn),
            ).rowcount

        return await self._database.write(work)

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's artifacts (of one session); how many."""

        def work(connection: sqlite3.Connection) -> int:
            number = tenant_id(connection, tenant)
            erased = connection.execute(
                "DELETE FROM artifacts WHERE tenant = ? AND (? IS NULL OR session = ?)",
                (number, session, session),
            ).rowcount
            if session is None:
                connection.execute("DELETE FROM tenants WHERE id = ?", (number,))
            if self._dense is not None and number is not None:
                self._dense.forget(number)
            # FTS5 only marks deleted terms; merging its segments drops them for good.
            connection.execute("INSERT INTO artifact_terms (artifact_terms) VALUES ('optimize')")
            return erased

        erased = await self._database.write(work)
        await self._file.scrub()
        return erased
