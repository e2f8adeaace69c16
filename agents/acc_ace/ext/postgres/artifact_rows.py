"""Lexical search over artifacts in PostgreSQL, through an inverted index.

The index (GIN over a tsvector) has our own terms (`core.text.search_terms`), so that Japanese
and identifiers match as in every other store; PostgreSQL's dictionaries are not used. Each term is
prefixed by its tenant's number: a query reads only its own tenant's posting lists.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from acc_ace.core.schemas.artifact import ArtifactKind
from acc_ace.core.schemas.base import Tenant
from acc_ace.ext.postgres.schema import Connection
from acc_ace.memory.priors import TurnPosition
from acc_ace.memory.ranking import Document
from acc_ace.storage.sql_artifact_pool import MAX_ROWS, Breadth, Scope, turns_around
from acc_ace.storage.sql_rows import page_size
from acc_ace.storage.tenant_rows import Span, TenantTotals, Times, prefixed

_MAX_PER_TURN = 4
"""Other artifacts read of a neighbouring turn, such as tool results."""

_MAX_COUNTED = MAX_ROWS + 1
"""Maximum rows counted for one term; for a more common term, the rest is estimated.

One more than a search may score, so counts of terms that are searched in full are exact.
"""

_BLOCK = 512
_MAX_BLOCKS = 8
"""Maximum blocks searched at once: a term may occur in all of their rows."""

_COUNT = """
    SELECT wanted.at, counted.number, counted.reached
      FROM unnest(%(terms)s::tsquery[]) WITH ORDINALITY AS wanted (term, at)
     CROSS JOIN LATERAL (
        SELECT count(*) AS number, max(id) AS reached
          FROM (SELECT id FROM artifacts WHERE lexemes @@ wanted.term AND NOT retired
                 LIMIT %(most)s) AS first) AS counted
"""
_BEST = """
    WITH wanted AS MATERIALIZED (
        SELECT * FROM unnest(%(terms)s::tsquery[], %(weights)s::float8[], %(blocks)s::bigint[])
            AS w (term, weight, blocks)
    ), matches AS ({matches}), best AS MATERIALIZED (
        SELECT id, sum(weight) / (1 + 0.5 * min(length) / %(mean)s) AS score
          FROM matches GROUP BY id ORDER BY score DESC, id DESC LIMIT %(size)s
    )
    SELECT artifact_id, created_at, terms, session, turn, speaker, asks
      FROM best JOIN artifacts USING (id) ORDER BY score DESC, id DESC
"""
_SEARCH = _BEST.format(
    matches="""
        SELECT of_term.id, of_term.length, weight FROM wanted CROSS JOIN LATERAL (
            SELECT id, length FROM artifacts
             WHERE lexemes @@ wanted.term AND NOT retired
               AND created_at + 0 >= %(start)s AND created_at + 0 < %(before)s
             ORDER BY id + 0 DESC LIMIT %(most)s) AS of_term
    """
)
"""Term by term, otherwise PostgreSQL compares every row with all terms when there are many.

Newest first, in case a term became common since it was counted. `+ 0` keeps PostgreSQL from
scanning all tenants' rows backwards by primary key.
"""

_SEARCH_NEWEST = _BEST.format(
    matches="""
        SELECT of_term.id, of_term.length, weight FROM wanted CROSS JOIN LATERAL (
            SELECT of_blocks.id, of_blocks.length
              FROM generate_series(
                    %(last)s::bigint / 512, %(since)s::bigint / 512, -wanted.blocks) AS newest
             CROSS JOIN LATERAL (
                SELECT id, length FROM artifacts
                 WHERE lexemes @@ wanted.term
                   AND ARRAY[id / 512]
                       && ARRAY(SELECT generate_series(newest - wanted.blocks + 1, newest))
                   AND NOT retired AND id + 0 BETWEEN %(since)s AND %(last)s
                   AND created_at + 0 >= %(start)s AND created_at + 0 < %(before)s
                 ORDER BY id DESC) AS of_blocks
             LIMIT %(most)s) AS of_term
         LIMIT %(most)s
    """
)
"""Blocks from the last one back, a few at a time, until enough rows are found.

The index has the same blocks (postgres.sql). `+ 0` keeps PostgreSQL from scanning all rows of the
span or of the time range instead, once for every block.
"""

_NEWEST_OF = """
    SELECT artifact_id, created_at, terms, session, turn, speaker, asks FROM artifacts
     WHERE tenant = %(tenant)s AND created_at >= %(start)s AND created_at < %(before)s
       AND NOT retired
     ORDER BY created_at DESC, id DESC LIMIT %(size)s
"""
_SPAN = """
    SELECT (SELECT id FROM artifacts
             WHERE tenant = %(tenant)s AND created_at >= %(start)s AND created_at < %(before)s
               AND NOT retired ORDER BY created_at, id LIMIT 1),
           (SELECT id FROM artifacts
             WHERE tenant = %(tenant)s AND created_at >= %(start)s AND created_at < %(before)s
               AND NOT retired ORDER BY created_at DESC, id DESC LIMIT 1)
"""
_NEIGHBOURS = """
    SELECT beside.* FROM unnest(%(sessions)s::text[], %(turns)s::integer[]) AS place (session, turn)
     CROSS JOIN LATERAL (
        (SELECT artifact_id, created_at, terms, artifacts.session, artifacts.turn, speaker, asks
           FROM artifacts
          WHERE tenant = %(tenant)s AND artifacts.session = place.session AND kind = %(said)s
            AND artifacts.turn = place.turn AND NOT retired AND created_at < %(before)s
          ORDER BY id DESC LIMIT 1)
        UNION ALL
        (SELECT artifact_id, created_at, terms, artifacts.session, artifacts.turn, speaker, asks
           FROM artifacts
          WHERE tenant = %(tenant)s AND artifacts.session = place.session
            AND artifacts.turn = place.turn AND NOT retired AND created_at < %(before)s
          ORDER BY id DESC LIMIT %(most)s)) AS beside
"""
# One TURN artifact per turn, since tool results stored later would crowd it out.

_BY_ID = """
    SELECT artifact_id, created_at, terms, session, turn, speaker, asks FROM artifacts
     WHERE tenant = %(tenant)s AND artifact_id = ANY(%(names)s) AND NOT retired
"""

_PREVIOUS_TURN = """
    SELECT artifact_id, created_at, terms, session, turn, speaker, asks FROM artifacts
     WHERE tenant = %(tenant)s AND session = %(session)s AND kind = %(kind)s AND NOT retired
       AND created_at < %(before)s
     ORDER BY turn DESC, id DESC LIMIT 1
"""


class PostgresArtifactRows:
    """The ArtifactRows of a PostgreSQL connection."""

    breadth = Breadth(state=None, matches_per_lead=1, rows_per_match=None, common_terms=3)

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def totals(self, tenant: Tenant) -> TenantTotals | None:
        """The totals of a tenant, or None when it has stored nothing."""
        row = self.connection.execute(
            "SELECT id, documents, terms, oldest, newest FROM tenants "
            "WHERE app = %s AND user_id = %s",
            tenant,
        ).fetchone()
        totals = TenantTotals(*row) if row else None
        return totals if totals and totals.newest else None

    def count_terms(self, tenant: TenantTotals, terms: Sequence[str]) -> Mapping[str, int]:
        """The approximate number of artifacts with each term."""
        values = {"terms": [_query(tenant.id, term) for term in terms], "most": _MAX_COUNTED}
        rows = self.connection.execute(_COUNT, values).fetchall()
        return {terms[at - 1]: _estimated(tenant, number, reached) for at, number, reached in rows}

    def matches(
        self,
        tenant: TenantTotals,
        terms: Sequence[str],
        frequencies: Mapping[str, int],
        scope: Scope,
    ) -> list[Document]:
        """The documents of a scope that best match the terms, best first."""
        values = {
            "terms": [_query(tenant.id, term) for term in terms],
            # A cached count may predate the first artifact with the term.
            "weights": [
                math.log(1 + tenant.documents / max(frequencies[term], 1)) for term in terms
            ],
            "blocks": [_blocks(scope, frequencies[term]) for term in terms],
            "mean": max(1.0, tenant.terms / max(tenant.documents, 1)),
            "since": scope.span.first,
            "last": scope.span.last,
            "start": scope.times.start,
            "before": scope.times.end,
            "most": MAX_ROWS if scope.newest is None else scope.newest,
            "size": scope.size,
        }
        # A common term may have few rows in a span, or all of them.
        rare = scope.newest is None and all(frequencies[term] <= MAX_ROWS for term in terms)
        return self._documents(_SEARCH if rare else _SEARCH_NEWEST, values)

    def span_of(self, tenant: TenantTotals, times: Times) -> Span | None:
        """The row ids of a time range, first to last; None if it is empty."""
        values = {"tenant": tenant.id, "start": times.start, "before": times.end}
        first, last = self.connection.execute(_SPAN, values).fetchone() or (None, None)
        return Span(first, last) if first and last and first <= last else None

    def newest_of(self, tenant: TenantTotals, times: Times, *, size: int) -> list[Document]:
        """The newest documents of a time range, at most `size`, whatever their content."""
        return self._documents(
            _NEWEST_OF,
            {"tenant": tenant.id, "start": times.start, "before": times.end, "size": size},
        )

    def documents_of(self, tenant: TenantTotals, artifact_ids: Sequence[str]) -> list[Document]:
        """The visible documents with these ids, in the same order."""
        documents = self._documents(_BY_ID, {"tenant": tenant.id, "names": list(artifact_ids)})
        by_id = {document.artifact_id: document for document in documents}
        return [by_id[name] for name in artifact_ids if name in by_id]

    def neighbours(
        self, tenant: TenantTotals, leads: Sequence[Document], *, before: float
    ) -> list[Document]:
        """Documents of the leads' turns and neighbouring turns, including the leads."""
        places = turns_around(leads)
        if not places:
            return []
        return self._documents(
            _NEIGHBOURS,
            {
                "tenant": tenant.id,
                "sessions": [session for session, _ in places],
                "turns": [turn for _, turn in places],
                "said": ArtifactKind.TURN.value,
                "before": before,
                "most": _MAX_PER_TURN,
            },
        )

    def previous_turn(
        self, tenant: TenantTotals, session: str, *, before: float
    ) -> Document | None:
        """The session's newest TURN artifact; the last stored one of its turn."""
        values = {
            "tenant": tenant.id,
            "session": session,
            "kind": ArtifactKind.TURN.value,
            "before": before,
        }
        return next(iter(self._documents(_PREVIOUS_TURN, values)), None)

    def bodies(self, tenant: TenantTotals, artifact_ids: Sequence[str]) -> dict[str, str]:
        """The stored JSON of artifacts, by id; unknown ids are left out."""
        rows = self.connection.execute(
            "SELECT artifact_id, body FROM artifacts WHERE tenant = %s AND artifact_id = ANY(%s)",
            (tenant.id, list(artifact_ids)),
        ).fetchall()
        return dict(rows)

    def page(self, tenant: TenantTotals, *, after: str, limit: int) -> list[tuple[str, str]]:
        """A page of (id, stored JSON) after the id `after`, ordered by id."""
        return self.connection.execute(
            "SELECT artifact_id, body FROM artifacts WHERE tenant = %s "
            'AND artifact_id COLLATE "C" > %s ORDER BY artifact_id COLLATE "C" LIMIT %s',
            (tenant.id, after, page_size(limit)),
        ).fetchall()

    def count(self, tenant: TenantTotals) -> int:
        """The number of artifacts, including retired ones."""
        row = self.connection.execute(
            "SELECT count(*) FROM artifacts WHERE tenant = %s", (tenant.id,)
        ).fetchone()
        return int(row[0]) if row else 0

    def _documents(self, statement: str, values: Mapping[str, object]) -> list[Document]:
        rows = self.connection.execute(statement.encode(), values).fetchall()
        return [_document(row) for row in rows]


def _blocks(scope: Scope, frequency: int) -> int:
    """Estimated number of blocks with enough of a term's newest rows."""
    wanted = MAX_ROWS if scope.newest is None else scope.newest
    ids = scope.span.rows * wanted / max(frequency, 1)
    return min(_MAX_BLOCKS, max(1, math.ceil(ids / _BLOCK)))


def _document(row: Sequence[Any]) -> Document:
    artifact_id, created_at, terms, session, turn, speaker, asks = row
    return Document(artifact_id, created_at, terms, TurnPosition(session, turn, speaker, asks))


def _estimated(tenant: TenantTotals, number: int, reached: int | None) -> int:
    """Extrapolate a term's count when counting stopped at `number` rows, at id `reached`."""
    if number < _MAX_COUNTED or reached is None:
        return number
    first, last = tenant.span
    looked_at = max(1, reached - first)
    share = max(1.0, (last - first) / looked_at)
    return max(number, min(tenant.documents, round(number * share)))


def _query(tenant_id: int, term: str) -> str:
    """A term as a tsquery. It has only letters and digits and is quoted, so it is never syntax."""
    return f"'{prefixed(tenant_id, term)}'"
