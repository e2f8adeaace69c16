"""Write artifact rows in PostgreSQL. Writers of one tenant are serialised by its row lock."""

from collections.abc import Sequence

from acc_ace.ext.postgres.artifact_rows import PostgresArtifactRows
from acc_ace.ext.postgres.schema import Connection
from acc_ace.ext.postgres.vectors import delete_vectors
from acc_ace.memory.ranking import IN_SESSION
from acc_ace.storage.sql_artifact_pool import ArtifactRow
from acc_ace.storage.sql_rows import Rows
from acc_ace.storage.tenant_rows import prefixed

_MAX_LEXEME_BYTES = 900_000
"""A tsvector is limited to 1 MiB of text; terms beyond this are stored but not searched."""

_INSERT = """
    INSERT INTO artifacts (tenant, artifact_id, session, kind, turn, created_at, length, speaker,
                           asks, terms, lexemes, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, array_to_tsvector(?), ?)
"""
_REPLACED = """
    DELETE FROM artifacts WHERE tenant = ? AND artifact_id = ANY(?) RETURNING retired, length
"""
_DELETED = """
    DELETE FROM artifacts WHERE tenant = ?
       AND (CAST(? AS text) IS NULL OR session = ? OR starts_with(session, ?))
 RETURNING retired, length
"""
_RETIRED = """
    UPDATE artifacts SET retired = true
     WHERE tenant = ? AND session = ? AND turn > ? AND NOT retired RETURNING length, id
"""
_NEWEST = """
    UPDATE tenants SET newest = last.id,
           oldest = CASE oldest WHEN 0 THEN last.id - ? ELSE oldest END
      FROM (SELECT currval(pg_get_serial_sequence('artifacts', 'id')) AS id) AS last
     WHERE tenants.id = ?
"""


class PostgresArtifactIndex:
    """The ArtifactIndex of PostgreSQL."""

    def reading(self, connection: Connection) -> PostgresArtifactRows:
        """The read side over a connection."""
        return PostgresArtifactRows(connection)

    def insert(self, rows: Rows, tenant: int, items: Sequence[ArtifactRow]) -> None:
        """Insert or replace rows by id; the tenant's row is locked."""
        names = [item.artifact.artifact_id for item in items]
        visible = _visible(rows.all(_REPLACED, (tenant, names)))
        rows.many(
            _INSERT,
            [
                (tenant, *item.columns, item.terms, _lexemes(tenant, item.terms), item.body)
                for item in items
            ],
        )
        rows.run(
            "INSERT INTO artifact_embeddings (artifact, tenant) "
            "SELECT id, tenant FROM artifacts WHERE tenant = ? AND artifact_id = ANY(?)",
            (tenant, names),
        )
        added = [item.length for item in items]
        _count(rows, tenant, added=added, removed=visible)
        rows.run(_NEWEST, (len(items) - 1, tenant))

    def retire(self, rows: Rows, tenant: int, session: str, after_turn: int) -> int:
        """Hide the session's artifacts after turn `after_turn` from recall; return how many."""
        retired = rows.all(_RETIRED, (tenant, session, after_turn))
        delete_vectors(rows.connection, [row for _, row in retired])
        _count(rows, tenant, removed=[length for length, _ in retired])
        return len(retired)

    def remove(self, rows: Rows, tenant: int, artifact_id: str) -> int:
        """Delete one artifact of the tenant; return 1 or 0."""
        removed = rows.all(_REPLACED, (tenant, [artifact_id]))
        _count(rows, tenant, removed=_visible(removed))
        return len(removed)

    def delete(self, rows: Rows, tenant: int, session: str | None) -> int:
        """Delete the tenant's artifacts (of one session and those in it); return how many."""
        deleted = rows.all(_DELETED, (tenant, session, session, f"{session}{IN_SESSION}"))
        _count(rows, tenant, removed=_visible(deleted))
        return len(deleted)


def _visible(deleted: Sequence[tuple[bool, int]]) -> list[int]:
    """The lengths of deleted rows (retired, length) that were not retired."""
    return [length for retired, length in deleted if not retired]


def _count(
    rows: Rows, tenant: int, *, added: Sequence[int] = (), removed: Sequence[int] = ()
) -> None:
    """Update a tenant's totals of visible artifacts and their terms."""
    rows.run(
        "UPDATE tenants SET documents = documents + ?, terms = terms + ? WHERE id = ?",
        (len(added) - len(removed), sum(added) - sum(removed), tenant),
    )


def _lexemes(tenant_id: int, terms: str) -> list[str]:
    """The distinct terms of a document as indexed."""
    lexemes: list[str] = []
    room = _MAX_LEXEME_BYTES
    for term in dict.fromkeys(terms.split()):
        lexeme = prefixed(tenant_id, term)
        room -= len(lexeme.encode())
        if room < 0:
            break
        lexemes.append(lexeme)
    return lexemes
