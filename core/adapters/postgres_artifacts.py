"""Artifacts in PostgreSQL, found through an inverted index of our own terms.

The index picks a bounded pool of matches, `core.domain.ranking` orders them, and only the chosen
ones are loaded. Writers of one tenant take turns at the tenant's row, which holds the totals.
"""

from collections.abc import Sequence
from typing import NamedTuple

from core.adapters.dense_query import Asked, DensePool, asking
from core.adapters.postgres_artifact_rows import (
    ArtifactRow,
    add_totals,
    artifact_of,
    bodies_of,
    delete_rows,
    insert_rows,
    pools,
    previous_turn,
    row_of,
    tenant_id,
)
from core.adapters.postgres_database import PostgresDatabase, page_size
from core.adapters.postgres_dense import PostgresDense
from core.adapters.postgres_pool import (
    TenantTotals,
    TermFrequencies,
    statistics,
    tenant_totals,
)
from core.adapters.postgres_schema import Connection
from core.domain.ranking import (
    DEFAULT_WEIGHTS,
    Document,
    Ranked,
    SearchQuery,
    fitted,
    rank,
    search_query,
    shortlist,
)
from schemas.artifact import Artifact, Recall, RecallQuery
from schemas.recall_weights import RecallWeights
from schemas.tenancy import SessionKey, Tenant


class _Found(NamedTuple):
    """What the words found: the tenant, how rare they are, and a bounded pool."""

    tenant: TenantTotals
    frequencies: dict[str, int]
    documents: dict[str, Document]


class _Chosen(NamedTuple):
    ranked: list[Ranked]
    bodies: dict[str, str]
    warnings: list[str]


class PostgresArtifactStore:
    """An ArtifactStore in a PostgresDatabase."""

    def __init__(
        self,
        database: PostgresDatabase,
        *,
        weights: RecallWeights = DEFAULT_WEIGHTS,
        dense: PostgresDense | None = None,
    ) -> None:
        """Search by words, and by meaning too where there is `dense`."""
        self._database = database
        self._dense = dense if weights.dense else None
        self._weights = weights
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
        by_tenant: dict[Tenant, dict[str, ArtifactRow]] = {}
        for artifact in artifacts:
            rows = by_tenant.setdefault(artifact.tenant, {})
            # The last of the same id counts, and as the newest.
            rows.pop(artifact.artifact_id, None)
            rows[artifact.artifact_id] = row_of(artifact)

        def work(connection: Connection) -> None:
            # In one order for every writer, so that no two wait for each other.
            for tenant in sorted(by_tenant):
                insert_rows(connection, tenant, by_tenant[tenant])

        if by_tenant:
            await self._database.write(work)
            self._fill()

    async def get(self, tenant: Tenant, artifact_id: str) -> Artifact | None:
        """The artifact, or None."""

        def work(connection: Connection) -> dict[str, str]:
            return bodies_of(connection, tenant_id(connection, tenant), [artifact_id])

        bodies = await self._database.read(work)
        return artifact_of(artifact_id, bodies[artifact_id]) if bodies else None

    async def page(
        self, tenant: Tenant, *, limit: int = 100, after: str | None = None
    ) -> Sequence[Artifact]:
        """A page of artifacts by id, retired ones included; `after` ended the previous page."""

        def work(connection: Connection) -> list[tuple[str, str]]:
            return connection.execute(
                "SELECT artifact_id, body FROM artifacts WHERE tenant = %s "
                'AND artifact_id COLLATE "C" > %s ORDER BY artifact_id COLLATE "C" LIMIT %s',
                (tenant_id(connection, tenant), after or "", page_size(limit)),
            ).fetchall()

        return [artifact_of(name, body) for name, body in await self._database.read(work)]

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

        def work(connection: Connection) -> int:
            number = tenant_id(connection, key.tenant, lock=True)
            rows = connection.execute(
                "UPDATE artifacts SET retired = true "
                "WHERE tenant = %s AND session = %s AND turn > %s AND NOT retired "
                "RETURNING length, id",
                (number, key.session, after_turn),
            ).fetchall()
            connection.execute(
                "DELETE FROM artifact_embeddings WHERE artifact = ANY(%s)",
                ([row for _, row in rows],),
            )
            add_totals(connection, number, documents=-len(rows), terms=-sum(n for n, _ in rows))
            return len(rows)

        return await self._database.write(work)

    async def count(self, tenant: Tenant) -> int:
        """How many artifacts the tenant has, retired ones included."""

        def work(connection: Connection) -> int:
            row = connection.execute(
                "SELECT count(*) FROM artifacts WHERE tenant = %s",
                (tenant_id(connection, tenant),),
            ).fetchone()
            return int(row[0]) if row else 0

        return await self._database.read(work)

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's artifacts (of one session); how many."""

        def work(connection: Connection) -> int:
            number = tenant_id(connection, tenant, lock=True)
            erased = delete_rows(
                connection,
                "DELETE FROM artifacts WHERE tenant = %s AND (%s::text IS NULL OR session = %s) "
                "RETURNING retired, length",
                (number, session, session),
            )
            if session is None:
                connection.execute("DELETE FROM tenants WHERE id = %s", (number,))
            else:
                add_totals(connection, number, documents=-erased.documents, terms=-erased.terms)
            return erased.rows

        return await self._database.write(work)

    def _fill(self) -> None:
        if self._dense is not None:
            self._dense.filler.wake()

    def _find(
        self, connection: Connection, query: RecallQuery, terms: SearchQuery
    ) -> _Found | None:
        tenant = tenant_totals(connection, query.key.tenant)
        if tenant is None:
            return None
        frequencies = self._frequencies.of(connection, tenant, terms.terms)
        documents = pools(connection, tenant, query, terms, frequencies)
        return _Found(tenant, frequencies, documents)

    def _near(
        self, connection: Connection, query: RecallQuery, found: _Found, asked: Asked
    ) -> DensePool:
        if self._dense is None or asked.vector is None:
            return DensePool({}, {}, [])
        return self._dense.pool(
            connection, found.tenant, asked.vector, found.documents, before=query.before
        )

    def _choose(
        self,
        connection: Connection,
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
                cosines=near.cosines,
            ),
            previous_turn(connection, found.tenant.id, query),
            limit=query.limit,
            max_tokens=query.max_tokens,
        )
        names = [item.artifact_id for item in chosen]
        return _Chosen(chosen, bodies_of(connection, found.tenant.id, names), near.warnings)
