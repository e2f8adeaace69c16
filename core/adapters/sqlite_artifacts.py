"""Artifacts in SQLite, found through FTS5.

The index holds our own terms (`core.domain.search_terms`), each prefixed by its tenant's number:
a query reads the posting lists of its tenant and of nobody else. FTS5 picks a bounded pool of
matches, `core.domain.ranking` orders them, and only the chosen ones are loaded.
"""

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from core.adapters.dense_query import Asked, DensePool, asking
from core.adapters.fts_tenant import (
    TenantTotals,
    TermFrequencies,
    statistics,
    tenant_totals,
)
from core.adapters.json_codec import decode, encode
from core.adapters.sqlite_artifact_rows import (
    ArtifactRow,
    artifact_of,
    bodies_of,
    insert_row,
    pools,
    previous_turn,
    tenant_id,
)
from core.adapters.sqlite_database import SqliteDatabase
from core.domain.ranking import (
    DEFAULT_WEIGHTS,
    Document,
    Ranked,
    SearchQuery,
    fitted,
    rank,
    readings,
    search_query,
    shortlist,
)
from core.domain.reading import Reading
from core.domain.search_terms import index_terms
from schemas.artifact import Artifact, Recall, RecallQuery
from schemas.recall_weights import RecallWeights
from schemas.tenancy import SessionKey, Tenant

if TYPE_CHECKING:
    # At run time only where there is an embedder: it needs numpy, an optional extra.
    from core.adapters.sqlite_dense import Prepared, SqliteDense


class _Found(NamedTuple):
    """What the words found, and all that can be done before the vector of x_t is there."""

    tenant: TenantTotals
    frequencies: dict[str, int]
    documents: dict[str, Document]
    early: dict[str, Reading]
    prepared: "Prepared | None"


class _Chosen(NamedTuple):
    ranked: list[Ranked]
    bodies: dict[str, str]
    warnings: list[str]


class SqliteArtifactStore:
    """An ArtifactStore in a SqliteDatabase."""

    def __init__(
        self,
        database: SqliteDatabase,
        *,
        weights: RecallWeights = DEFAULT_WEIGHTS,
        dense: "SqliteDense | None" = None,
    ) -> None:
        """Search by words, and by meaning too where there is `dense`."""
        self._database = database
        self._weights = weights
        self._dense = dense if weights.dense else None
        # Touched by the database's one thread alone.
        self._frequencies = TermFrequencies()

    async def close(self) -> None:
        """End the work in the background; the database stays open."""
        if self._dense is not None:
            await self._dense.filler.close()

    async def fill(self) -> int:
        """Embed now what has no vectors yet; how many artifacts. Raises EmbedderError."""
        return await self._dense.filler.fill() if self._dense is not None else 0

    async def add(self, artifacts: Sequence[Artifact]) -> None:
        """Store artifacts, all or none; one whose id is known to the tenant replaces it."""
        rows = [ArtifactRow(item, index_terms(item.content), encode(item)) for item in artifacts]

        def work(connection: sqlite3.Connection) -> None:
            for row in rows:
                insert_row(connection, row)

        if rows:
            await self._database.write(work)
            self._fill()

    async def get(self, tenant: Tenant, artifact_id: str) -> Artifact | None:
        """The artifact, or None."""

        def work(connection: sqlite3.Connection) -> dict[str, str]:
            return bodies_of(connection, tenant_id(connection, tenant), [artifact_id])

        bodies = await self._database.read(work)
        return artifact_of(artifact_id, bodies[artifact_id]) if bodies else None

    async def recall(self, query: RecallQuery) -> Recall:
        """At most `query.limit` candidates within `query.max_tokens`, best first."""
        terms = search_query(query)
        self._fill()
        async with asking(self._dense.embedder if self._dense else None, query.text) as vector:
            found = await self._database.read(
                lambda connection: self._find(connection, query, terms)
            )
            if found is None:
                return Recall()
            asked = await vector
        chosen = await self._database.read(
            lambda connection: self._choose(connection, query, terms, found, asked)
        )
        artifacts = {name: artifact_of(name, body) for name, body in chosen.bodies.items()}
        return Recall(
            candidates=fitted(chosen.ranked, artifacts, query, terms),
            warnings=[text for text in (asked.warning, *chosen.warnings) if text],
        )

    async def retire(self, key: SessionKey, after_turn: int) -> int:
        """Hide the session's artifacts of turns later than `after_turn` from recall; how many."""

        def work(connection: sqlite3.Connection) -> int:
            return connection.execute(
                "UPDATE artifacts SET retired = 1 "
                "WHERE tenant = ? AND session = ? AND turn > ? AND NOT retired",
                (tenant_id(connection, key.tenant), key.session, after_turn),
            ).rowcount

        return await self._database.write(work)

    async def count(self, tenant: Tenant) -> int:
        """How many artifacts the tenant has, retired ones included."""

        def work(connection: sqlite3.Connection) -> int:
            count: int = connection.execute(
                "SELECT count(*) FROM artifacts WHERE tenant = ?",
                (tenant_id(connection, tenant),),
            ).fetchone()[0]
            return count

        return await self._database.read(work)

    async def page(
        self, tenant: Tenant, *, limit: int = 100, after: str | None = None
    ) -> Sequence[Artifact]:
        """A page of artifacts by id, retired ones included."""

        def work(connection: sqlite3.Connection) -> Sequence[tuple[str, str]]:
            return connection.execute(
                "SELECT artifact_id, body FROM artifacts WHERE tenant = ? AND artifact_id > ? "
                "ORDER BY artifact_id LIMIT ?",
                (tenant_id(connection, tenant), after or "", max(limit, 0)),
            ).fetchall()

        rows = await self._database.read(work)
        return [decode(Artifact, body, what=f"artifact {name!r}") for name, body in rows]

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
        await self._database.scrub()
        return erased

    def _fill(self) -> None:
        if self._dense is not None:
            self._dense.filler.wake()

    def _find(
        self, connection: sqlite3.Connection, query: RecallQuery, terms: SearchQuery
    ) -> _Found | None:
        """What the words find. An embedder may be at work meanwhile."""
        tenant = tenant_totals(connection, *query.key.tenant)
        if tenant is None:
            return None
        frequencies = self._frequencies.of(connection, tenant, terms.terms)
        documents = pools(connection, tenant, query, terms, frequencies)
        early = readings(
            documents.values(), terms, statistics(tenant, frequencies), weights=self._weights
        )
        prepared = self._dense.prepare(connection, tenant, documents) if self._dense else None
        return _Found(tenant, frequencies, documents, early, prepared)

    def _near(
        self, connection: sqlite3.Connection, query: RecallQuery, found: _Found, asked: Asked
    ) -> DensePool:
        if self._dense is None or asked.vector is None:
            return DensePool({}, {}, [])
        return self._dense.pool(
            connection,
            found.tenant,
            asked.vector,
            found.documents,
            before=query.before,
            prepared=found.prepared,
        )

    def _choose(
        self,
        connection: sqlite3.Connection,
        query: RecallQuery,
        terms: SearchQuery,
        found: _Found,
        asked: Asked,
    ) -> _Chosen:
        near = self._near(connection, query, found, asked)
        documents = {**found.documents, **near.documents}
        chosen = shortlist(
            rank(
                documents.values(),
                terms,
                statistics(found.tenant, found.frequencies),
                weights=self._weights,
                limit=query.limit,
                cosines=near.cosines,
                early=found.early,
            ),
            previous_turn(connection, found.tenant.id, query),
            limit=query.limit,
            max_tokens=query.max_tokens,
        )
        names = [item.artifact_id for item in chosen]
        return _Chosen(chosen, bodies_of(connection, found.tenant.id, names), near.warnings)
