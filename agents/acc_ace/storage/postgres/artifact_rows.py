"""What a search reads of artifacts in PostgreSQL, through an inverted index.

The index (GIN over a tsvector) holds our own terms (`acc_ace.text.search_terms`), so that Japanese
and identifiers are found as in every other store; PostgreSQL's dictionaries take no part. Each
term is prefixed by its tenant's number: a query reads the posting lists of its tenant alone.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from acc_ace.memory.priors import TurnPosition
from acc_ace.memory.ranking import Document
from acc_ace.schemas.artifact import ArtifactKind
from acc_ace.schemas.base import Tenant
from acc_ace.storage.postgres.schema import Connection
from acc_ace.storage.sql_artifact_pool import MAX_ROWS, Breadth, Scope, places_beside
from acc_ace.storage.sql_rows import page_size
from acc_ace.storage.tenant_rows import Span, TenantTotals, Times, prefixed

_MOST_OF_A_TURN = 4
"""Artifacts looked at beside what was said in a neighbouring turn, such as tool results."""

_MOST_COUNTED = MAX_ROWS + 1
"""Rows that are counted for one term; of a commoner one the rest is estimated.

One more than a search may score: what is looked for whole is never an estimate.
"""

_BLOCK = 512
_MOST_BLOCKS = 8
"""That are looked for at once: a word may stand in all rows of them."""

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
    ), held AS ({held}), best AS MATERIALIZED (
        SELECT id, sum(weight) / (1 + 0.5 * min(length) / %(mean)s) AS score
          FROM held GROUP BY id ORDER BY score DESC, id DESC LIMIT %(size)s
    )
    SELECT artifact_id, created_at, terms, session, turn, speaker, asks
      FROM best JOIN artifacts USING (id) ORDER BY score DESC, id DESC
"""
_SEARCH = _BEST.format(
    held="""
        SELECT of_term.id, of_term.length, weight FROM wanted CROSS JOIN LATERAL (
            SELECT id, length FROM artifacts
             WHERE lexemes @@ wanted.term AND NOT retired
               AND created_at + 0 >= %(start)s AND created_at + 0 < %(before)s
             ORDER BY id + 0 DESC LIMIT %(most)s) AS of_term
    """
)
"""Term by term, or else PostgreSQL compares every row with all terms when they are many.

The newest, where a term became common since it was counted. The zero in the order keeps PostgreSQL
from going back through the rows of all until it has so many.
"""

_SEARCH_NEWEST = _BEST.format(
    held="""
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
"""Some blocks at a time from the last one back, no further than to as many rows as are wanted.

The index has the same blocks (postgres.sql). The zeros keep PostgreSQL from going through all rows
of the span or of the times instead, here once for every block.
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
# Of each turn what was said in it, which tool results that were stored later would hide.

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
        """The totals of a tenant, or None when it never stored anything."""
        row = self.connection.execute(
            "SELECT id, documents, terms, oldest, newest FROM tenants "
            "WHERE app = %s AND user_id = %s",
            tenant,
        ).fetchone()
        totals = TenantTotals(*row) if row else None
        return totals if totals and totals.newest else None

    def count_terms(self, tenant: TenantTotals, terms: Sequence[str]) -> Mapping[str, int]:
        """About how many artifacts hold each term."""
        values = {"terms": [_query(tenant.id, term) for term in terms], "most": _MOST_COUNTED}
        rows = self.connection.execute(_COUNT, values).fetchall()
        return {terms[at - 1]: _estimated(tenant, number, reached) for at, number, reached in rows}

    def matches(
        self,
        tenant: TenantTotals,
        terms: Sequence[str],
        frequencies: Mapping[str, int],
        scope: Scope,
    ) -> list[Document]:
        """The documents of a scope that match one of the terms best, best first."""
        values = {
            "terms": [_query(tenant.id, term) for term in terms],
            # A count may be older than the first artifact that holds the term.
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
        # A term that is common may have few rows in a span, or all of them.
        rare = scope.newest is None and all(frequencies[term] <= MAX_ROWS for term in terms)
        return self._documents(_SEARCH if rare else _SEARCH_NEWEST, values)

    def span_of(self, tenant: TenantTotals, times: Times) -> Span | None:
        """From the first row of these times to the last; None where there is none."""
        values = {"tenant": tenant.id, "start": times.start, "before": times.end}
        first, last = self.connection.execute(_SPAN, values).fetchone() or (None, None)
        return Span(first, last) if first and last and first <= last else None

    def newest_of(self, tenant: TenantTotals, times: Times, *, size: int) -> list[Document]:
        """The newest documents of these times, at most `size`, whatever they say."""
        return self._documents(
            _NEWEST_OF,
            {"tenant": tenant.id, "start": times.start, "before": times.end, "size": size},
        )

    def documents_of(self, tenant: TenantTotals, artifact_ids: Sequence[str]) -> list[Document]:
        """The visible documents of these ids, in this order."""
        documents = self._documents(_BY_ID, {"tenant": tenant.id, "names": list(artifact_ids)})
        found = {document.artifact_id: document for document in documents}
        return [found[name] for name in artifact_ids if name in found]

    def neighbours(
        self, tenant: TenantTotals, leads: Sequence[Document], *, before: float
    ) -> list[Document]:
        """What stands beside the leads in their sessions, the leads themselves included."""
        places = places_beside(leads)
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
                "most": _MOST_OF_A_TURN,
            },
        )

    def previous_turn(
        self, tenant: TenantTotals, session: str, *, before: float
    ) -> Document | None:
        """The newest TURN artifact of the session; of one turn, the one stored last."""
        values = {
            "tenant": tenant.id,
            "session": session,
            "kind": ArtifactKind.TURN.value,
            "before": before,
        }
        return next(iter(self._documents(_PREVIOUS_TURN, values)), None)

    def bodies(self, tenant: TenantTotals, artifact_ids: Sequence[str]) -> dict[str, str]:
        """The stored JSON of artifacts, by id; those that are not there are left out."""
        rows = self.connection.execute(
            "SELECT artifact_id, body FROM artifacts WHERE tenant = %s AND artifact_id = ANY(%s)",
            (tenant.id, list(artifact_ids)),
        ).fetchall()
        return dict(rows)

    def page(self, tenant: TenantTotals, *, after: str, limit: int) -> list[tuple[str, str]]:
        """Ids after `after`, with the stored JSON of each, by id."""
        return self.connection.execute(
            "SELECT artifact_id, body FROM artifacts WHERE tenant = %s "
            'AND artifact_id COLLATE "C" > %s ORDER BY artifact_id COLLATE "C" LIMIT %s',
            (tenant.id, after, page_size(limit)),
        ).fetchall()

    def count(self, tenant: TenantTotals) -> int:
        """How many artifacts there are, retired ones included."""
        row = self.connection.execute(
            "SELECT count(*) FROM artifacts WHERE tenant = %s", (tenant.id,)
        ).fetchone()
        return int(row[0]) if row else 0

    def _documents(self, statement: str, values: Mapping[str, object]) -> list[Document]:
        rows = self.connection.execute(statement.encode(), values).fetchall()
        return [_document(row) for row in rows]


def _blocks(scope: Scope, frequency: int) -> int:
    """Blocks in which the newest rows of a term probably are that are wanted."""
    wanted = MAX_ROWS if scope.newest is None else scope.newest
    ids = scope.span.rows * wanted / max(frequency, 1)
    return min(_MOST_BLOCKS, max(1, math.ceil(ids / _BLOCK)))


def _document(row: Sequence[Any]) -> Document:
    artifact_id, created_at, terms, session, turn, speaker, asks = row
    return Document(artifact_id, created_at, terms, TurnPosition(session, turn, speaker, asks))


def _estimated(tenant: TenantTotals, number: int, reached: int | None) -> int:
    """How many rows hold a term of which `number` were counted, in about the order of ids."""
    if number < _MOST_COUNTED or reached is None:
        return number
    first, last = tenant.span
    looked_at = max(1, reached - first)
    share = max(1.0, (last - first) / looked_at)
    return max(number, min(tenant.documents, round(number * share)))


def _query(tenant_id: int, term: str) -> str:
    """A term as a tsquery. It is letters and digits only, and quoted, so never syntax."""
    return f"'{prefixed(tenant_id, term)}'"
