"""The rows of artifacts in SQLite: write them, and read what a search needs of them."""

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from core.adapters.fts_pool import neighbours, newest_of, pool
from core.adapters.fts_tenant import TenantTotals
from core.adapters.json_codec import decode
from core.domain.periods import Period
from core.domain.priors import ends_asking, speaker_terms
from core.domain.ranking import Document, SearchQuery
from schemas.artifact import Artifact, ArtifactKind, RecallQuery
from schemas.tenancy import Tenant

_POOL = 4
"""Matches looked at for each candidate that is returned."""

_LEAST_POOL = 64

_STATE_POOL = 32
"""Matches of the state looked at; it never decides against x_t."""

_PERIOD_POOL = 48
"""Matches, and newest documents, looked at of each time that x_t names."""

_FAR_FUTURE = 1e12


class ArtifactRow(NamedTuple):
    """An artifact with its search terms and the JSON that is stored."""

    artifact: Artifact
    terms: str
    body: str


def insert_row(connection: sqlite3.Connection, row: ArtifactRow) -> None:
    """Write a row in place of one of the same id, with its terms in the index."""
    artifact = row.artifact
    connection.execute(
        "INSERT INTO tenants (app, user) VALUES (?, ?) ON CONFLICT DO NOTHING", artifact.tenant
    )
    tenant = tenant_id(connection, artifact.tenant)
    connection.execute(
        "DELETE FROM artifacts WHERE tenant = ? AND artifact_id = ?",
        (tenant, artifact.artifact_id),
    )
    identity = connection.execute(
        "INSERT INTO artifacts "
        "(tenant, artifact_id, session, kind, turn, created_at, speaker, asks, terms, body) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            tenant,
            artifact.artifact_id,
            artifact.session,
            artifact.kind.value,
            artifact.turn,
            artifact.created_at.timestamp(),
            speaker_terms(artifact.content),
            ends_asking(artifact.content),
            len(row.terms.split()),
            row.body,
        ),
    ).lastrowid
    connection.execute(
        "INSERT INTO artifact_terms (rowid, terms) VALUES (?, ?)",
        (identity, " ".join(f"{tenant}x{term}" for term in row.terms.split())),
    )


def pools(
    connection: sqlite3.Connection,
    tenant: TenantTotals,
    query: RecallQuery,
    terms: SearchQuery,
    frequencies: dict[str, int],
) -> dict[str, Document]:
    """Documents that match x_t or the state, and what stands beside the best, by id."""
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
    for period in terms.periods:
        found.update(_of_period(connection, tenant, query, terms, frequencies, period=period))
    return found


def _of_period(
    connection: sqlite3.Connection,
    tenant: TenantTotals,
    query: RecallQuery,
    terms: SearchQuery,
    frequencies: dict[str, int],
    *,
    period: Period,
) -> dict[str, Document]:
    """Documents of a time that x_t names: those that match x_t best, and the newest."""
    matches = pool(
        connection,
        tenant,
        list(terms.text),
        frequencies,
        before=query.before,
        size=_PERIOD_POOL,
        period=period,
    )
    newest = newest_of(connection, tenant, period, before=query.before, size=_PERIOD_POOL)
    return {document.artifact_id: document for document in (*matches, *newest)}


def previous_turn(
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


def bodies_of(
    connection: sqlite3.Connection, tenant: int | None, artifact_ids: Iterable[str]
) -> dict[str, str]:
    """The stored JSON of artifacts, by id; those that are not there are left out."""
    bodies = {}
    for artifact_id in artifact_ids:
        row = connection.execute(
            "SELECT body FROM artifacts WHERE tenant = ? AND artifact_id = ?",
            (tenant, artifact_id),
        ).fetchone()
        if row is not None:
            bodies[artifact_id] = row[0]
    return bodies


def tenant_id(connection: sqlite3.Connection, tenant: Tenant) -> int | None:
    """The number of a tenant; None when it never stored anything."""
    row = connection.execute("SELECT id FROM tenants WHERE app = ? AND user = ?", tenant).fetchone()
    return row[0] if row else None


def artifact_of(artifact_id: str, body: str) -> Artifact:
    """An artifact from its JSON; raises CorruptStoreError."""
    return decode(Artifact, body, what=f"artifact {artifact_id!r}")
