"""The rows of artifacts in PostgreSQL: write them, and read what a search needs of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from core.adapters.json_codec import decode, encode
from core.adapters.postgres_pool import TenantTotals, lexemes, neighbours, newest_of, pool
from core.adapters.postgres_schema import Connection
from core.domain.periods import Period
from core.domain.priors import ends_asking, speaker_terms
from core.domain.ranking import Document, SearchQuery
from core.domain.search_terms import index_terms
from schemas.artifact import Artifact, ArtifactKind, RecallQuery
from schemas.tenancy import Tenant

_POOL = 4
"""Matches looked at for each candidate that is returned."""

_LEAST_POOL = 64

_PERIOD_POOL = 48
"""Matches, and newest documents, looked at of each time that x_t names."""

_FAR_FUTURE = 1e12

_INSERT = """
    INSERT INTO artifacts (tenant, artifact_id, session, kind, turn, created_at, length, speaker,
                           asks, terms, lexemes, body)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, array_to_tsvector(%s), %s)
"""


class ArtifactRow(NamedTuple):
    """An artifact with its search terms and the JSON that is stored."""

    artifact: Artifact
    terms: str
    length: int
    body: str


class Deleted(NamedTuple):
    """What was deleted: rows, and how many of them were visible with how many terms."""

    rows: int
    documents: int
    terms: int


def row_of(artifact: Artifact) -> ArtifactRow:
    """The row of an artifact."""
    terms = index_terms(artifact.content)
    return ArtifactRow(artifact, terms, len(terms.split()), encode(artifact))


def insert_rows(connection: Connection, tenant: Tenant, rows: dict[str, ArtifactRow]) -> None:
    """Write rows of a tenant in place of those of the same ids."""
    connection.execute(
        "INSERT INTO tenants (app, user_id) VALUES (%s, %s) ON CONFLICT DO NOTHING", tenant
    )
    number = tenant_id(connection, tenant, lock=True)
    replaced = delete_rows(
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
    add_totals(
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


def _values(tenant_id: int, row: ArtifactRow) -> tuple[Any, ...]:
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
        ends_asking(artifact.content),
        row.terms,
        lexemes(tenant_id, row.terms),
        row.body,
    )


def delete_rows(connection: Connection, statement: str, values: Sequence[object]) -> Deleted:
    """Run a deletion that returns `retired, length` of each row."""
    rows = connection.execute(statement.encode(), values).fetchall()
    visible = [length for retired, length in rows if not retired]
    return Deleted(len(rows), len(visible), sum(visible))


def add_totals(connection: Connection, tenant: int | None, *, documents: int, terms: int) -> None:
    """Count a tenant's visible artifacts and terms on."""
    connection.execute(
        "UPDATE tenants SET documents = documents + %s, terms = terms + %s WHERE id = %s",
        (documents, terms, tenant),
    )


def pools(
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
    for period in terms.periods:
        found.update(_of_period(connection, tenant, query, terms, frequencies, period=period))
    return found


def _of_period(
    connection: Connection,
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


def previous_turn(connection: Connection, tenant: int, query: RecallQuery) -> Document | None:
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


def bodies_of(
    connection: Connection, tenant: int | None, artifact_ids: Sequence[str]
) -> dict[str, str]:
    """The stored JSON of artifacts, by id; those that are not there are left out."""
    rows = connection.execute(
        "SELECT artifact_id, body FROM artifacts WHERE tenant = %s AND artifact_id = ANY(%s)",
        (tenant, list(artifact_ids)),
    ).fetchall()
    return dict(rows)


def tenant_id(connection: Connection, tenant: Tenant, *, lock: bool = False) -> int | None:
    """The number of a tenant; None when it never stored anything."""
    statement = "SELECT id FROM tenants WHERE app = %s AND user_id = %s"
    row = connection.execute(
        f"{statement}{' FOR UPDATE' if lock else ''}".encode(), tenant
    ).fetchone()
    return int(row[0]) if row else None


def artifact_of(artifact_id: str, body: str) -> Artifact:
    """An artifact from its JSON; raises CorruptStoreError."""
    return decode(Artifact, body, what=f"artifact {artifact_id!r}")
