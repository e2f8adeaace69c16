"""Artifacts in SQLite, found through FTS5.

The index holds our own terms (`core.domain.search_terms`), each prefixed by its tenant's number:
a query reads the posting lists of its tenant and of nobody else. FTS5 picks a bounded pool of
matches, `core.domain.ranking` orders them, and only the chosen ones are loaded.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from core.adapters.fts_pool import (
    TenantTotals,
    TermFrequencies,
    neighbours,
    pool,
    statistics,
    tenant_totals,
)
from core.adapters.json_codec import decode, encode
from core.adapters.sqlite_database import SqliteDatabase
from core.domain.priors import speaker_terms
from core.domain.ranking import (
    DEFAULT_WEIGHTS,
    Document,
    Ranked,
    SearchQuery,
    fit,
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

_STATE_POOL = 32
"""Matches of the state looked at; it never decides against x_t."""

_FAR_FUTURE = 1e12


class _Row(NamedTuple):
    artifact: Artifact
    terms: str
    body: str


class SqliteArtifactStore:
    """An ArtifactStore in a SqliteDatabase."""

    def __init__(
        self, database: SqliteDatabase, *, weights: RecallWeights = DEFAULT_WEIGHTS
    ) -> None:
        self._database = database
        self._weights = weights
        # Touched by the database's one thread alone.
        self._frequencies = TermFrequencies()

    async def add(self, artifacts: Sequence[Artifact]) -> None:
        """Store artifacts, all or none; one whose id is known to the tenant replaces it."""
        rows = [_Row(item, index_terms(item.content), encode(item)) for item in artifacts]

        def work(connection: sqlite3.Connection) -> None:
            for row in rows:
                _insert(connection, row)

        if rows:
            await self._database.write(work)

    async def get(self, tenant: Tenant, artifact_id: str) -> Artifact | None:
        """The artifact, or None."""

        def work(connection: sqlite3.Connection) -> dict[str, str]:
            return _bodies(connection, _tenant_id(connection, tenant), [artifact_id])

        bodies = await self._database.read(work)
        return _artifact(artifact_id, bodies[artifact_id]) if bodies else None

    async def recall(self, query: RecallQuery) -> Recall:
        """At most `query.limit` candidates within `query.max_tokens`, best first."""
        terms = search_query(query)

        def work(connection: sqlite3.Connection) -> tuple[list[Ranked], dict[str, str]]:
            tenant = tenant_totals(connection, *query.key.tenant)
            if tenant is None:
                return [], {}
            frequencies = self._frequencies.of(connection, tenant, terms.terms)
            chosen = shortlist(
                rank(
                    _pools(connection, tenant, query, terms, frequencies),
                    terms,
                    statistics(tenant, frequencies),
                    weights=self._weights,
                    limit=query.limit,
                ),
                _previous_turn(connection, tenant.id, query),
                limit=query.limit,
                max_tokens=query.max_tokens,
            )
            return chosen, _bodies(connection, tenant.id, [item.artifact_id for item in chosen])

        chosen, bodies = await self._database.read(work)
        artifacts = {name: _artifact(name, body) for name, body in bodies.items()}
        return Recall(candidates=fit(chosen, artifacts, max_tokens=query.max_tokens))

    async def retire(self, key: SessionKey, after_turn: int) -> int:
        """Hide the session's artifacts of turns later than `after_turn` from recall; how many."""

        def work(connection: sqlite3.Connection) -> int:
            return connection.execute(
                "UPDATE artifacts SET retired = 1 "
                "WHERE tenant = ? AND session = ? AND turn > ? AND NOT retired",
                (_tenant_id(connection, key.tenant), key.session, after_turn),
            ).rowcount

        return await self._database.write(work)

    async def count(self, tenant: Tenant) -> int:
        """How many artifacts the tenant has, retired ones included."""

        def work(connection: sqlite3.Connection) -> int:
            count: int = connection.execute(
                "SELECT count(*) FROM artifacts WHERE tenant = ?",
                (_tenant_id(connection, tenant),),
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
                (_tenant_id(connection, tenant), after or "", max(limit, 0)),
            ).fetchall()

        rows = await self._database.read(work)
        return [decode(Artifact, body, what=f"artifact {name!r}") for name, body in rows]

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's artifacts (of one session); how many."""

        def work(connection: sqlite3.Connection) -> int:
            number = _tenant_id(connection, tenant)
            erased = connection.execute(
                "DELETE FROM artifacts WHERE tenant = ? AND (? IS NULL OR session = ?)",
                (number, session, session),
            ).rowcount
            if session is None:
                connection.execute("DELETE FROM tenants WHERE id = ?", (number,))
            # FTS5 only marks deleted terms; merging its segments drops them for good.
            connection.execute("INSERT INTO artifact_terms (artifact_terms) VALUES ('optimize')")
            return erased

        erased = await self._database.write(work)
        await self._database.scrub()
        return erased


def _insert(connection: sqlite3.Connection, row: _Row) -> None:
    artifact = row.artifact
    connection.execute(
        "INSERT INTO tenants (app, user) VALUES (?, ?) ON CONFLICT DO NOTHING", artifact.tenant
    )
    tenant = _tenant_id(connection, artifact.tenant)
    connection.execute(
        "DELETE FROM artifacts WHERE tenant = ? AND artifact_id = ?",
        (tenant, artifact.artifact_id),
    )
    identity = connection.execute(
        "INSERT INTO artifacts "
        "(tenant, artifact_id, session, kind, turn, created_at, speaker, terms, body) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            tenant,
            artifact.artifact_id,
            artifact.session,
            artifact.kind.value,
            artifact.turn,
            artifact.created_at.timestamp(),
            speaker_terms(artifact.content),
            len(row.terms.split()),
            row.body,
        ),
    ).lastrowid
    connection.execute(
        "INSERT INTO artifact_terms (rowid, terms) VALUES (?, ?)",
        (identity, " ".join(f"{tenant}x{term}" for term in row.terms.split())),
    )


def _pools(
    connection: sqlite3.Connection,
    tenant: TenantTotals,
    query: RecallQuery,
    terms: SearchQuery,
    frequencies: dict[str, int],
) -> list[Document]:
    """Documents that match x_t or the state, and what stands beside the best; each one once."""
    found: dict[str, Document] = {}
    for wanted, size in (
        (terms.text, max(_LEAST_POOL, _POOL * query.limit)),
        (terms.state, _STATE_POOL),
    ):
        matches = pool(
            connection,
            tenant,
            list(wanted),
            frequencies,
            before=query.before,
            size=size,
        )
        beside = neighbours(connection, tenant, matches[: size // 4], before=query.before)
        found.update((document.artifact_id, document) for document in (*matches, *beside))
    return list(found.values())


def _previous_turn(
    connection: sqlite3.Connection, tenant: int, query: RecallQuery
) -> Document | None:
    """The newest TURN artifact of the session; of one turn, the one stored last."""
    row = connection.execute(
        "SELECT artifact_id, created_at FROM artifacts WHERE tenant = ? AND session = ? "
        "AND kind = ? AND retired = 0 AND created_at < ? ORDER BY turn DESC, id DESC LIMIT 1",
        (
            tenant,
            query.key.session,
            ArtifactKind.TURN.value,
            query.before.timestamp() if query.before else _FAR_FUTURE,
        ),
    ).fetchone()
    return Document(row[0], row[1], "") if row else None


def _bodies(
    connection: sqlite3.Connection, tenant: int | None, artifact_ids: Iterable[str]
) -> dict[str, str]:
    bodies = {}
    for artifact_id in artifact_ids:
        row = connection.execute(
            "SELECT body FROM artifacts WHERE tenant = ? AND artifact_id = ?",
            (tenant, artifact_id),
        ).fetchone()
        if row is not None:
            bodies[artifact_id] = row[0]
    return bodies


def _tenant_id(connection: sqlite3.Connection, tenant: Tenant) -> int | None:
    row = connection.execute("SELECT id FROM tenants WHERE app = ? AND user = ?", tenant).fetchone()
    return row[0] if row else None


def _artifact(artifact_id: str, body: str) -> Artifact:
    return decode(Artifact, body, what=f"artifact {artifact_id!r}")
