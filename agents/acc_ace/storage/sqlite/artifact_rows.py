"""Lexical search over artifacts in SQLite, through FTS5.

The index has our own terms (`core.text.search_terms`), each prefixed by its tenant's number: a
query reads only its own tenant's posting lists.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from acc_ace.core.schemas.artifact import ArtifactKind
from acc_ace.core.schemas.base import Tenant
from acc_ace.memory.priors import TurnPosition
from acc_ace.memory.ranking import Document
from acc_ace.storage.sql_artifact_pool import Breadth, Scope, turns_around
from acc_ace.storage.tenant_rows import Span, TenantTotals, Times, prefixed

_MAX_PER_TURN = 4
"""Other artifacts read of a neighbouring turn, such as tool results."""

# All in one statement, since FTS5 reopens its vocabulary for each.
_COUNTS = """
    SELECT term, doc FROM json_each(?) CROSS JOIN artifact_vocabulary ON term = value
"""

_DOCUMENTS = """
    SELECT wanted.id, artifact_id, created_at, kept.c0, artifacts.session, turn, speaker, asks
      FROM (WANTED) AS wanted CROSS JOIN artifacts ON artifacts.id = wanted.id
     CROSS JOIN artifact_terms_content AS kept ON kept.id = wanted.id
     ORDER BY wanted.place, wanted.id DESC
"""
"""The documents of selected rows, ordered by place.

CROSS JOIN fixes the join order. Terms are read from FTS5's content table, at a third of the cost
of querying FTS5. Of hundreds of matches only the best are read, since they are spread over the
whole file.
"""

_SEARCH = _DOCUMENTS.replace(
    "WANTED",
    """
    SELECT rowid AS id, rank AS place FROM artifact_terms
     WHERE artifact_terms MATCH :match AND rowid BETWEEN :first AND :last
     ORDER BY rank, rowid DESC LIMIT :size
    """,
)

_SEARCH_NEWEST = _DOCUMENTS.replace(
    "WANTED",
    """
    SELECT id, place FROM (
        SELECT rowid AS id, rank AS place FROM artifact_terms
         WHERE artifact_terms MATCH :match AND rowid BETWEEN :first AND :last
         ORDER BY rowid DESC LIMIT :newest)
     ORDER BY place, id DESC LIMIT :size
    """,
)
"""Only the newest matches are scored: FTS5 scans them from the last one back."""

_SEARCH_WITHIN = _DOCUMENTS.replace(
    "WANTED",
    """
    SELECT id, place FROM (
        SELECT artifact_terms.rowid AS id, rank AS place
          FROM artifact_terms CROSS JOIN artifacts ON artifacts.id = artifact_terms.rowid
         WHERE artifact_terms MATCH :match AND artifact_terms.rowid BETWEEN :first AND :last
           AND created_at >= :start AND created_at < :before
         ORDER BY artifact_terms.rowid DESC LIMIT :newest)
     ORDER BY place, id DESC LIMIT :size
    """,
)

_NEIGHBOURS = """
      WITH named (session, turn) AS MATERIALIZED (
        SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:places))
    SELECT beside.id, artifact_id, created_at, kept.c0, beside.session, beside.turn, speaker, asks
      FROM named CROSS JOIN artifacts AS beside ON beside.id IN (
        SELECT id FROM (
            SELECT id FROM artifacts
             WHERE tenant = :tenant AND artifacts.session = named.session AND kind = :said
               AND retired = 0 AND artifacts.turn = named.turn AND +created_at < :before
             ORDER BY id DESC LIMIT 1)
        UNION ALL
        SELECT id FROM (
            SELECT id FROM artifacts
             WHERE tenant = :tenant AND artifacts.session = named.session
               AND artifacts.turn = named.turn AND NOT retired AND +created_at < :before
             ORDER BY id DESC LIMIT :most))
     CROSS JOIN artifact_terms_content AS kept ON kept.id = beside.id
"""
"""One TURN artifact per turn, since tool results stored later would crowd it out.

The unary plus keeps SQLite from scanning all older rows by the time index. Without MATERIALIZED it
would parse the JSON of each place four times.
"""

_OF_ROWS = _DOCUMENTS.replace(
    "WANTED",
    """
    SELECT artifacts.id, item.key AS place
      FROM json_each(:rows) AS item CROSS JOIN artifacts ON artifacts.id = item.value
     WHERE tenant = :tenant AND NOT retired AND created_at < :before
    """,
)

_NEWEST_OF = _DOCUMENTS.replace(
    "WANTED",
    """
    SELECT id, -created_at AS place FROM artifacts
     WHERE tenant = :tenant AND created_at >= :start AND created_at < :before AND NOT retired
     ORDER BY created_at DESC LIMIT :size
    """,
)

_FIRST = """
    SELECT id FROM artifacts WHERE tenant = :tenant AND created_at >= :start
       AND created_at < :before AND NOT retired ORDER BY created_at LIMIT 1
"""
_LAST = _FIRST.replace("created_at LIMIT", "created_at DESC LIMIT")

_PREVIOUS_TURN = _DOCUMENTS.replace(
    "WANTED",
    """
    SELECT id, 0 AS place FROM artifacts
     WHERE tenant = :tenant AND session = :session AND kind = :kind AND retired = 0
       AND created_at < :before
     ORDER BY turn DESC, id DESC LIMIT 1
    """,
)


class SqliteArtifactRows:
    """The ArtifactRows of a SQLite connection."""

    # FTS5 scores every row with one of the terms, and the matches are spread over the file.
    breadth = Breadth(state=32, matches_per_lead=4, rows_per_match=8, common_terms=1)

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def totals(self, tenant: Tenant) -> TenantTotals | None:
        """The totals of a tenant, or None when it has stored nothing."""
        row = self.connection.execute(
            "SELECT id, documents, terms, oldest, newest FROM tenants "
            "WHERE app = ? AND user_id = ?",
            tenant,
        ).fetchone()
        totals = TenantTotals(*row) if row else None
        return totals if totals and totals.newest else None

    def count_terms(self, tenant: TenantTotals, terms: Sequence[str]) -> Mapping[str, int]:
        """The number of artifacts with each term; terms without any are left out."""
        names = {prefixed(tenant.id, term): term for term in terms}
        rows = self.connection.execute(_COUNTS, (json.dumps(list(names)),))
        return {names[name]: count for name, count in rows}

    def matches(
        self,
        tenant: TenantTotals,
        terms: Sequence[str],
        frequencies: Mapping[str, int],
        scope: Scope,
    ) -> list[Document]:
        """The documents of a scope that best match the terms, best first."""
        times = scope.times
        whole = _SEARCH if scope.newest is None else _SEARCH_NEWEST
        return self._documents(
            tenant,
            _SEARCH_WITHIN if times.has_start or times.has_end else whole,
            {
                # Terms have only letters and digits; the quotes keep words like OR from being
                # parsed as syntax.
                "match": " OR ".join(f'"{prefixed(tenant.id, term)}"' for term in terms),
                "first": scope.span.first,
                "last": scope.span.last,
                "newest": -1 if scope.newest is None else scope.newest,
                "start": times.start,
                "before": times.end,
                "size": scope.size,
            },
        )

    def span_of(self, tenant: TenantTotals, times: Times) -> Span | None:
        """The row ids of a time range, first to last; None if it is empty."""
        values = {"tenant": tenant.id, "start": times.start, "before": times.end}
        first = self.connection.execute(_FIRST, values).fetchone()
        last = self.connection.execute(_LAST, values).fetchone()
        return Span(first[0], last[0]) if first and last and first[0] <= last[0] else None

    def newest_of(self, tenant: TenantTotals, times: Times, *, size: int) -> list[Document]:
        """The newest documents of a time range, at most `size`, whatever their content."""
        values = {"start": times.start, "before": times.end, "size": size}
        return self._documents(tenant, _NEWEST_OF, values)

    def documents_of(
        self, tenant: TenantTotals, rows: Sequence[int], *, before: float
    ) -> dict[int, Document]:
        """The visible documents of these rows, by row, in the same order."""
        values = {"tenant": tenant.id, "rows": json.dumps(rows), "before": before}
        cursor = self.connection.execute(_OF_ROWS, values)
        prefix = prefixed(tenant.id, "")
        return {row[0]: _document(prefix, row) for row in cursor}

    def neighbours(
        self, tenant: TenantTotals, leads: Sequence[Document], *, before: float
    ) -> list[Document]:
        """Documents of the leads' turns and neighbouring turns, including the leads."""
        return self._documents(
            tenant,
            _NEIGHBOURS,
            {
                "places": json.dumps(turns_around(leads)),
                "said": ArtifactKind.TURN.value,
                "before": before,
                "most": _MAX_PER_TURN,
            },
        )

    def previous_turn(
        self, tenant: TenantTotals, session: str, *, before: float
    ) -> Document | None:
        """The session's newest TURN artifact; the last stored one of its turn."""
        values = {"session": session, "kind": ArtifactKind.TURN.value, "before": before}
        return next(iter(self._documents(tenant, _PREVIOUS_TURN, values)), None)

    def bodies(self, tenant: TenantTotals, artifact_ids: Sequence[str]) -> dict[str, str]:
        """The stored JSON of artifacts, by id; unknown ids are left out."""
        bodies = {}
        for artifact_id in artifact_ids:
            row = self.connection.execute(
                "SELECT body FROM artifacts WHERE tenant = ? AND artifact_id = ?",
                (tenant.id, artifact_id),
            ).fetchone()
            if row is not None:
                bodies[artifact_id] = row[0]
        return bodies

    def page(self, tenant: TenantTotals, *, after: str, limit: int) -> list[tuple[str, str]]:
        """A page of (id, stored JSON) after the id `after`, ordered by id."""
        return self.connection.execute(
            "SELECT artifact_id, body FROM artifacts WHERE tenant = ? AND artifact_id > ? "
            "ORDER BY artifact_id LIMIT ?",
            (tenant.id, after, limit),
        ).fetchall()

    def count(self, tenant: TenantTotals) -> int:
        """The number of artifacts, including retired ones."""
        count: int = self.connection.execute(
            "SELECT count(*) FROM artifacts WHERE tenant = ?", (tenant.id,)
        ).fetchone()[0]
        return count

    def _documents(
        self, tenant: TenantTotals, statement: str, values: Mapping[str, object]
    ) -> list[Document]:
        rows = self.connection.execute(statement, {"tenant": tenant.id, **values})
        prefix = prefixed(tenant.id, "")
        return [_document(prefix, row) for row in rows]


def _document(prefix: str, row: Sequence[Any]) -> Document:
    _, artifact_id, created_at, terms, session, turn, speaker, asks = row
    plain = terms.removeprefix(prefix)
    for before in " \n":
        plain = plain.replace(f"{before}{prefix}", before)
    return Document(
        artifact_id, created_at, plain, TurnPosition(session, turn, speaker, bool(asks))
    )
