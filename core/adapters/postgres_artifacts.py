"""Artifacts in PostgreSQL, found through an inverted index of our own terms.

The index picks a bounded pool of matches, `core.domain.ranking` orders them, and only the chosen
ones are loaded. Writers of one tenant take turns at the tenant's row, which holds the totals.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from core.adapters.dense_query import Asked, DensePool, asking
from core.adapters.json_codec import decode, encode
from core.adapters.postgres_database import PostgresDatabase, page_size
from core.adapters.postgres_dense import PostgresDense
from core.adapters.postgres_pool import (
    TenantTotals,
    TermFrequencies,
    lexemes,
    neighbours,
    pool,
    statistics,
    tenant_totals,
)
from core.adapters.postgres_schema import Connection
from core.domain.priors import speaker_terms
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
from core.domain.search_terms import index_terms
from schemas.artifact import Artifact, ArtifactKind, Recall, RecallQuery
from schemas.recall_weights import RecallWeights
from schemas.tenancy import SessionKey, Tenant

_POOL = 4
"""Matches looked at for each candidate that is returned."""

_LEAST_POOL = 64

_FAR_FUTURE = 1e12

_INSERT = """
    INSERT INTO artifacts (tenant, artifact_id, session, kind, turn, created_at, length, speaker,
                           terms, lexemes, body)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, array_to_tsvector(%s), %s)
"""


class _Found(NamedTuple):
    """What the words found: the tenant, how rare they are, and a bounded pool."""

    tenant: TenantTotals
    frequencies: dict[str, int]
    documents: dict[str, Document]


class _Chosen(NamedTuple):
    ranked: list[Ranked]
    bodies: dict[str, str]
    warnings: list[str]


class _Row(NamedTuple):
    artifact: Artifact
    terms: str
    length: int
    body: str


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
        by_tenant: dict[Tenant, dict[str, _Row]] = {}
        for artifact in artifacts:
            rows = by_tenant.setdefault(artifact.tenant, {})
            # The last of the same id counts, and as the newest.
            rows.pop(artifact.artifact_id, None)
            rows[artifact.artifact_id] = _row(artifact)

        def work(connection: Connection) -> None:
            # In one order for every writer, so that no two wait for each other.
            for tenant in sorted(by_tenant):
                _insert(connection, tenant, by_tenant[tenant])

        if by_tenant:
            await self._database.write(work)
            self._fill()

    async def get(self, tenant: Tenant, artifact_id: str) -> Artifact | None:
        """The artifact, or None."""

        def work(connection: Connection) -> dict[str, str]:
            return _bodies(connection, _tenant_id(connection, tenant), [artifact_id])

        bodies = await self._database.read(work)
        return _artifact(artifact_id, bodies[artifact_id]) if bodies else None

    async def page(
        self, tenant: Tenant, *, limit: int = 100, after: str | None = None
    ) -> Sequence[Artifact]:
        """A page of artifacts by id, retired ones included; `after` ended the previous page."""

        def work(connection: Connection) -> list[tuple[str, str]]:
            return connection.execute(
                "SELECT artifact_id, body FROM artifacts WHERE tenant = %s "
                'AND artifact_id COLLATE "C" > %s ORDER BY artifact_id COLLATE "C" LIMIT %s',
                (_tenant_id(connection, tenant), after or "", page_size(limit)),
            ).fetchall()

        return [_artifact(name, body) for name, body in await self._database.read(work)]

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
        artifacts = {name: _artifact(name, body) for name, body in chosen.bodies.items()}
        return Recall(
            candidates=fitted(chosen.ranked, artifacts, query, terms),
            warnings=[text for text in (asked.warning, *chosen.warnings) if text],
        )

    async def retire(self, key: SessionKey, after_turn: int) -> int:
        """Hide the session's artifacts of turns later than `after_turn` from recall; how many."""

        def work(connection: Connection) -> int:
            number = _tenant_id(connection, key.tenant, lock=True)
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
            _add_totals(connection, number, documents=-len(rows), terms=-sum(n for n, _ in rows))
            return len(rows)

        return await self._database.write(work)

    async def count(self, tenant: Tenant) -> int:
        """How many artifacts the tenant has, retired ones included."""

        def work(connection: Connection) -> int:
            row = connection.execute(
                "SELECT count(*) FROM artifacts WHERE tenant = %s",
                (_tenant_id(connection, tenant),),
            ).fetchone()
            return int(row[0]) if row else 0

        return await self._database.read(work)

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's artifacts (of one session); how many."""

        def work(connection: Connection) -> int:
            number = _tenant_id(connection, tenant, lock=True)
            erased = _delete(
                connection,
                "DELETE FROM artifacts WHERE tenant = %s AND (%s::text IS NULL OR session = %s) "
                "RETURNING retired, length",
                (number, session, session),
            )
            if session is None:
                connection.execute("DELETE FROM tenants WHERE id = %s", (number,))
            else:
                _add_totals(connection, number, documents=-erased.documents, terms=-erased.terms)
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
        documents = _pools(connection, tenant, query, terms, frequencies)
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
            _previous_turn(connection, found.tenant.id, query),
            limit=query.limit,
            max_tokens=query.max_tokens,
        )
        names = [item.artifact_id for item in chosen]
        return _Chosen(chosen, _bodies(connection, found.tenant.id, names), near.warnings)


class _Deleted(NamedTuple):
    """What was deleted: rows, and how many of them were visible with how many terms."""

    rows: int
    documents: int
    terms: int


def _row(artifact: Artifact) -> _Row:
    terms = index_terms(artifact.content)
    return _Row(artifact, terms, len(terms.split()), encode(artifact))


def _insert(connection: Connection, tenant: Tenant, rows: dict[str, _Row]) -> None:
    connection.execute(
        "INSERT INTO tenants (app, user_id) VALUES (%s, %s) ON CONFLICT DO NOTHING", tenant
    )
    number = _tenant_id(connection, tenant, lock=True)
    replaced = _delete(
        connection,
        "DELETE FROM artifacts WHERE tenant = %s AND artifact_id = ANY(%s) "
        "RETURNING retired, length",
        (number, list(rows)),
    )
    with connection.cursor() as cursor:
        cursor.executemany(_INSERT, [_values(number or 0, row) for row in rows.values()])
    connection.execute(
        "INSERT INTO artifact_embeddings (artifact, tenant) "
        "SELECT id, tenant FROM artifacts WHERE tenant = %s AND artifact_id = ANY(%s)",
        (number, list(rows)),
    )
    _add_totals(
        connection,
        number,
        documents=len(rows) - replaced.documents,
        terms=sum(row.length for row in rows.values()) - replaced.terms,
    )
    connection.execute(
        "UPDATE tenants SET newest = last.id, "
        "oldest = CASE oldest WHEN 0 THEN last.id - %s ELSE oldest END "
        "FROM (SELECT currval(pg_get_serial_sequence('artifacts', 'id')) AS id) AS last "
        "WHERE tenants.id = %s",
        (len(rows) - 1, number),
    )


def _values(tenant_id: int, row: _Row) -> tuple[Any, ...]:
    artifact = row.artifact
    return (
        tenant_id,
        artifact.artifact_id,
        artifact.session,
        artifact.kind.value,
        artifact.turn,
        artifact.created_at.timestamp(),
        row.length,
        speaker_terms(artifact.content),
        row.terms,
        lexemes(tenant_id, row.terms),
        row.body,
    )


def _delete(connection: Connection, statement: str, values: Sequence[object]) -> _Deleted:
    rows = connection.execute(statement.encode(), values).fetchall()
    visible = [length for retired, length in rows if not retired]
    return _Deleted(len(rows), len(visible), sum(visible))


def _add_totals(connection: Connection, tenant: int | None, *, documents: int, terms: int) -> None:
    connection.execute(
        "UPDATE tenants SET documents = documents + %s, terms = terms + %s WHERE id = %s",
        (documents, terms, tenant),
    )


def _pools(
    connection: Connection,
    tenant: TenantTotals,
    query: RecallQuery,
    terms: SearchQuery,
    frequencies: dict[str, int],
) -> dict[str, Document]:
    """Documents that match x_t or the state, and what stands beside the best, by id."""
    found: dict[str, Document] = {}
    for wanted in (terms.text, terms.state):
        matches = pool(
            connection,
            tenant,
            list(wanted),
            frequencies,
            before=query.before,
            size=max(_LEAST_POOL, _POOL * query.limit),
        )
        beside = neighbours(connection, tenant, matches, before=query.before)
        found.update((document.artifact_id, document) for document in (*matches, *beside))
    return found


def _previous_turn(connection: Connection, tenant: int, query: RecallQuery) -> Document | None:
    """The newest TURN artifact of the session; of one turn, the one stored last."""
    row = connection.execute(
        "SELECT artifact_id, created_at FROM artifacts WHERE tenant = %s AND session = %s "
        "AND kind = %s AND NOT retired AND created_at < %s ORDER BY turn DESC, id DESC LIMIT 1",
        (
            tenant,
            query.key.session,
            ArtifactKind.TURN.value,
            query.before.timestamp() if query.before else _FAR_FUTURE,
        ),
    ).fetchone()
    return Document(row[0], row[1], "") if row else None


def _bodies(
    connection: Connection, tenant: int | None, artifact_ids: Sequence[str]
) -> dict[str, str]:
    rows = connection.execute(
        "SELECT artifact_id, body FROM artifacts WHERE tenant = %s AND artifact_id = ANY(%s)",
        (tenant, list(artifact_ids)),
    ).fetchall()
    return dict(rows)


def _tenant_id(connection: Connection, tenant: Tenant, *, lock: bool = False) -> int | None:
    statement = "SELECT id FROM tenants WHERE app = %s AND user_id = %s"
    row = connection.execute(
        f"{statement}{' FOR UPDATE' if lock else ''}".encode(), tenant
    ).fetchone()
    return int(row[0]) if row else None


def _artifact(artifact_id: str, body: str) -> Artifact:
    return decode(Artifact, body, what=f"artifact {artifact_id!r}")
