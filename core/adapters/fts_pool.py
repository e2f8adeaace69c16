"""Pick a bounded pool of matches from the full-text index.

FTS5 scores every row that holds one of the terms, so a common word costs time in proportion to
all that was ever stored. Here the rarest terms go first, until their rows exceed a budget; if
even the rarest has more, only its newest rows are looked at. So recall takes the same time at
turn 10 and at turn 100,000; the words left out still count when the pool is ranked.
"""

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from core.adapters.fts_tenant import Span, TenantTotals
from core.domain.periods import Period
from core.domain.priors import REACH, Place
from core.domain.ranking import Document

MAX_ROWS = 768
"""Rows of the index that one search may score."""

MAX_LEADS = 32
"""Best matches whose neighbouring turns are ranked too."""

_MOST_OF_A_TURN = 4
"""Artifacts looked at for each neighbouring turn, on average; it may hold many tool results."""

_ROWS_PER_MATCH = 8

_FAR_PAST, _FAR_FUTURE = -1e12, 1e12

_DOCUMENTS = """
    SELECT wanted.id, artifact_id, created_at, kept.c0, artifacts.session, turn, speaker, asks
      FROM (WANTED) AS wanted CROSS JOIN artifacts ON artifacts.id = wanted.id
     CROSS JOIN artifact_terms_content AS kept ON kept.id = wanted.id
     ORDER BY wanted.place, wanted.id DESC
"""
"""The documents of the rows that are wanted, in the order of their places.

CROSS keeps the order of the tables. The terms are read from the table that FTS5 keeps them in, at
a third of the cost of asking FTS5. Of hundreds of matches only the best are read: they are spread
over the whole file.
"""

_SEARCH = _DOCUMENTS.replace(
    "WANTED",
    """
    SELECT rowid AS id, rank AS place FROM artifact_terms
     WHERE artifact_terms MATCH :match AND rowid BETWEEN :since AND :last
     ORDER BY rank, rowid DESC LIMIT :size
    """,
)

_SEARCH_WITHIN = _DOCUMENTS.replace(
    "WANTED",
    """
    SELECT artifacts.id, rank AS place
      FROM artifact_terms CROSS JOIN artifacts ON artifacts.id = artifact_terms.rowid
     WHERE artifact_terms MATCH :match AND artifact_terms.rowid BETWEEN :since AND :last
       AND created_at >= :start AND created_at < :before
     ORDER BY rank, artifacts.id DESC LIMIT :size
    """,
)

_NEIGHBOURS = _DOCUMENTS.replace(
    "WANTED",
    """
    SELECT artifacts.id, 0 AS place
      FROM json_each(:stretches) AS stretch CROSS JOIN artifacts
     WHERE tenant = :tenant AND session = json_extract(stretch.value, '$[0]')
       AND turn BETWEEN json_extract(stretch.value, '$[1]') AND json_extract(stretch.value, '$[2]')
       AND NOT retired AND created_at < :before
     LIMIT :size
    """,
)

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


def pool(
    connection: sqlite3.Connection,
    tenant: TenantTotals,
    terms: Sequence[str],
    frequencies: dict[str, int],
    *,
    before: datetime | None,
    size: int,
    period: Period | None = None,
) -> list[Document]:
    """The best matches of the rarest terms, at most `size`, of a period if one is given."""
    span = _span_of(connection, tenant, period, before) if period else tenant.span
    if span is None:
        return []
    chosen, since = _affordable(
        tenant, terms, frequencies, span=span, max_rows=min(MAX_ROWS, _ROWS_PER_MATCH * size)
    )
    if not chosen:
        return []
    rows = connection.execute(
        _SEARCH if before is None and period is None else _SEARCH_WITHIN,
        {
            # Terms are letters and digits only; the quotes keep words like OR from being syntax.
            "match": " OR ".join(f'"{tenant.prefixed(term)}"' for term in chosen),
            "since": since,
            "last": span.last,
            "start": _from(period),
            "before": _until(before, period),
            "size": size,
        },
    ).fetchall()
    return [_document(tenant, row) for row in rows]


def newest_of(
    connection: sqlite3.Connection,
    tenant: TenantTotals,
    period: Period,
    *,
    before: datetime | None,
    size: int,
) -> list[Document]:
    """The newest documents of a period, at most `size`, whatever they say."""
    values = {
        "tenant": tenant.id,
        "start": _from(period),
        "before": _until(before, period),
        "size": size,
    }
    return [_document(tenant, row) for row in connection.execute(_NEWEST_OF, values)]


def documents_of(
    connection: sqlite3.Connection,
    tenant: TenantTotals,
    rows: Sequence[int],
    *,
    before: datetime | None,
) -> dict[int, Document]:
    """The visible documents of these rows, by row, in this order."""
    values = {"tenant": tenant.id, "rows": json.dumps(rows), "before": _until(before)}
    return {row[0]: _document(tenant, row) for row in connection.execute(_OF_ROWS, values)}


def neighbours(
    connection: sqlite3.Connection,
    tenant: TenantTotals,
    leads: Sequence[Document],
    *,
    before: datetime | None,
) -> list[Document]:
    """What stands beside the leads in their sessions, the leads themselves included."""
    stretches = _stretches(leads[:MAX_LEADS])
    rows = connection.execute(
        _NEIGHBOURS,
        {
            "tenant": tenant.id,
            "stretches": json.dumps(stretches),
            "before": _until(before),
            "size": _MOST_OF_A_TURN * sum(last - first + 1 for _, first, last in stretches),
        },
    )
    return [_document(tenant, row) for row in rows]


def _stretches(leads: Sequence[Document]) -> list[tuple[str, int, int]]:
    """(session, first turn, last turn) around the leads; those that overlap become one."""
    places = sorted(
        (lead.place.session, lead.place.turn)
        for lead in leads
        if lead.place.session is not None and lead.place.turn is not None
    )
    stretches: list[tuple[str, int, int]] = []
    for session, turn in places:
        first, last = turn - REACH, turn + REACH
        if stretches and stretches[-1][0] == session and stretches[-1][2] >= first - 1:
            first = stretches.pop()[1]
        stretches.append((session, first, last))
    return stretches


class _Row(NamedTuple):
    id: int
    artifact_id: str
    created_at: float
    terms: str
    session: str | None
    turn: int | None
    speaker: str
    asks: int


def _document(tenant: TenantTotals, columns: Sequence[Any]) -> Document:
    row = _Row(*columns)
    terms = f" {row.terms}".replace(f" {tenant.prefixed('')}", " ").strip()
    return Document(
        row.artifact_id,
        row.created_at,
        terms,
        Place(row.session, row.turn, row.speaker, bool(row.asks)),
    )


def _from(period: Period | None) -> float:
    return _FAR_PAST if period is None else period.start.timestamp()


def _until(before: datetime | None, period: Period | None = None) -> float:
    ends = [before, period.end if period else None]
    return min((end.timestamp() for end in ends if end is not None), default=_FAR_FUTURE)


def _span_of(
    connection: sqlite3.Connection,
    tenant: TenantTotals,
    period: Period,
    before: datetime | None,
) -> Span | None:
    """The rows between the first and the last of a period; those stored in another order are not.

    They are looked at by `newest_of` alone.
    """
    values = {"tenant": tenant.id, "start": _from(period), "before": _until(before, period)}
    first = connection.execute(_FIRST, values).fetchone()
    last = connection.execute(_LAST, values).fetchone()
    return Span(first[0], last[0]) if first and last and first[0] <= last[0] else None


def _affordable(
    tenant: TenantTotals,
    terms: Sequence[str],
    frequencies: dict[str, int],
    *,
    span: Span,
    max_rows: int,
) -> tuple[list[str], int]:
    """The rarest terms whose rows are within `max_rows`, and the oldest row to look at.

    Of a span, a term is taken to have the share that the span has of all rows.
    """
    share = min(1.0, span.rows / tenant.span.rows)
    chosen: list[str] = []
    rows = 0.0
    for term in sorted(terms, key=lambda term: frequencies[term]):
        if chosen and rows + frequencies[term] * share > max_rows:
            break
        chosen.append(term)
        rows += frequencies[term] * share
    if rows <= max_rows:
        return chosen, span.first
    return chosen, span.last - int((span.last - span.first) * max_rows / rows)
