"""Pick a bounded pool of matches from PostgreSQL's inverted index.

The index (GIN over a tsvector) holds our own terms (`core.domain.search_terms`), so that Japanese
and identifiers are found as in every other store; PostgreSQL's dictionaries take no part. Each
term is prefixed by its tenant's number: a query reads the posting lists of its tenant alone.

The rarest terms go first, until their rows exceed a budget; if even the rarest has more, only its
newest rows are looked at. So recall takes the same time at turn 10 and at turn 100,000; the words
left out still count when the pool is ranked.
"""

import math
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from core.adapters.postgres_schema import Connection
from core.domain.periods import Period
from core.domain.priors import REACH, Place
from core.domain.ranking import CorpusStatistics, Document
from schemas.tenancy import Tenant

MAX_ROWS = 768
"""Rows of the index that one search may score."""

MAX_LEADS = 32
"""Best matches whose neighbouring turns are ranked too."""

_MOST_OF_A_TURN = 4
"""Artifacts looked at for each neighbouring turn, which may hold many tool results."""

_CACHED_TERMS = 50_000
_FAR_PAST, _FAR_FUTURE = -1e12, 1e12

_MAX_LEXEME_BYTES = 900_000
"""A tsvector holds less than 1 MiB of text; terms beyond this are stored but not searched."""

_MOST_COUNTED = 500
"""Rows that are counted for one term; of a commoner one the rest is estimated."""

_COUNT = """
    SELECT wanted.at, counted.number, counted.reached
      FROM unnest(%(terms)s::tsquery[]) WITH ORDINALITY AS wanted (term, at)
     CROSS JOIN LATERAL (
        SELECT count(*) AS number, max(id) AS reached
          FROM (SELECT id FROM artifacts WHERE lexemes @@ wanted.term AND NOT retired
                 LIMIT %(most)s) AS first) AS counted
"""
_SEARCH = """
    WITH wanted AS MATERIALIZED (
        SELECT * FROM unnest(%(terms)s::tsquery[], %(weights)s::float8[]) AS w (term, weight)
    ), best AS MATERIALIZED (
        SELECT id, sum(weight) / (1 + 0.5 * min(length) / %(mean)s) AS score
          FROM wanted JOIN artifacts ON lexemes @@ term
         WHERE NOT retired AND {span} created_at < %(before)s
         GROUP BY id ORDER BY score DESC, id DESC LIMIT %(size)s
    )
    SELECT artifact_id, created_at, terms, session, turn, speaker, asks
      FROM best JOIN artifacts USING (id) ORDER BY score DESC, id DESC
"""
# A condition that all rows meet would still make PostgreSQL read the whole index of ids.
_SEARCH_ALL = _SEARCH.format(span="")
_SEARCH_NEWEST = _SEARCH.format(span="id >= %(since)s AND")
_SEARCH_SPAN = _SEARCH.format(
    span="id BETWEEN %(since)s AND %(last)s AND created_at >= %(start)s AND"
)
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
        SELECT artifact_id, created_at, terms, artifacts.session, artifacts.turn, speaker, asks
          FROM artifacts
         WHERE tenant = %(tenant)s AND artifacts.session = place.session
           AND artifacts.turn = place.turn AND NOT retired AND created_at < %(before)s
         ORDER BY id DESC LIMIT %(most)s) AS beside
"""

_BY_ID = """
    SELECT artifact_id, created_at, terms, session, turn, speaker, asks FROM artifacts
     WHERE tenant = %s AND artifact_id = ANY(%s) AND NOT retired
"""


class Span(NamedTuple):
    """Rows of the index, both ends included."""

    first: int
    last: int

    @property
    def rows(self) -> int:
        """How many there are at most."""
        return self.last - self.first + 1


class TenantTotals(NamedTuple):
    """The row of a tenant: its number, and what its visible artifacts add up to."""

    id: int
    documents: int
    terms: int
    oldest: int
    newest: int

    @property
    def span(self) -> Span:
        """All rows of the tenant."""
        return Span(self.oldest, self.newest)


class TermFrequencies:
    """How many artifacts hold a term. Old counts are used while a tenant grew little since."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._counts: OrderedDict[tuple[int, str], tuple[int, int]] = OrderedDict()

    def of(
        self, connection: Connection, tenant: TenantTotals, terms: Sequence[str]
    ) -> dict[str, int]:
        """The count of each term among the tenant's artifacts; at most one query."""
        with self._mutex:
            cached = {term: self._counts.get((tenant.id, term)) for term in terms}
        known = {
            term: found[0]
            for term, found in cached.items()
            if found is not None and _is_fresh(found[1], tenant.documents)
        }
        missing = [term for term in terms if term not in known]
        if missing:
            counted = _count(connection, tenant, missing)
            known |= counted
            self._keep(tenant, counted)
        return known

    def _keep(self, tenant: TenantTotals, counted: Mapping[str, int]) -> None:
        with self._mutex:
            for term, count in counted.items():
                self._counts[tenant.id, term] = (count, tenant.documents)
            while len(self._counts) > _CACHED_TERMS:
                self._counts.popitem(last=False)


def lexemes(tenant_id: int, terms: str) -> list[str]:
    """The terms of a document as the index holds them, each one once."""
    found: list[str] = []
    room = _MAX_LEXEME_BYTES
    for term in dict.fromkeys(terms.split()):
        lexeme = f"{tenant_id}x{term}"
        room -= len(lexeme.encode())
        if room < 0:
            break
        found.append(lexeme)
    return found


def tenant_totals(connection: Connection, tenant: Tenant) -> TenantTotals | None:
    """The totals of a tenant, or None when it never stored anything."""
    row = connection.execute(
        "SELECT id, documents, terms, oldest, newest FROM tenants WHERE app = %s AND user_id = %s",
        tenant,
    ).fetchone()
    return TenantTotals(*row) if row else None


def statistics(tenant: TenantTotals, frequencies: Mapping[str, int]) -> CorpusStatistics:
    """What ranking needs to know of a tenant's artifacts."""
    return CorpusStatistics(tenant.documents, tenant.terms / max(tenant.documents, 1), frequencies)


def pool(
    connection: Connection,
    tenant: TenantTotals,
    terms: Sequence[str],
    frequencies: Mapping[str, int],
    *,
    before: datetime | None,
    size: int,
    period: Period | None = None,
) -> list[Document]:
    """The best matches of the rarest terms, at most `size`, of a period if one is given."""
    span = _span_of(connection, tenant, period, before) if period else tenant.span
    if span is None:
        return []
    chosen, since = _affordable(tenant, terms, frequencies, span)
    if not chosen:
        return []
    search = _SEARCH_SPAN if period else _SEARCH_NEWEST if since else _SEARCH_ALL
    rows = connection.execute(
        search,
        {
            "terms": [_query(tenant.id, term) for term in chosen],
            "weights": [math.log(1 + tenant.documents / frequencies[term]) for term in chosen],
            "mean": max(1.0, tenant.terms / max(tenant.documents, 1)),
            "since": since or span.first,
            "last": span.last,
            "start": _from(period),
            "before": _until(before, period),
            "size": size,
        },
    ).fetchall()
    return [_document(row) for row in rows]


def newest_of(
    connection: Connection,
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
    return [_document(row) for row in connection.execute(_NEWEST_OF, values).fetchall()]


def documents(
    connection: Connection, tenant: TenantTotals, artifact_ids: Sequence[str]
) -> list[Document]:
    """The visible documents of these ids, in this order."""
    rows = connection.execute(_BY_ID, (tenant.id, list(artifact_ids))).fetchall()
    found = {document.artifact_id: document for document in map(_document, rows)}
    return [found[name] for name in artifact_ids if name in found]


def neighbours(
    connection: Connection,
    tenant: TenantTotals,
    leads: Sequence[Document],
    *,
    before: datetime | None,
) -> list[Document]:
    """What stands beside the best leads in their sessions, the leads themselves included."""
    places = sorted(
        {
            (lead.place.session, turn)
            for lead in leads[:MAX_LEADS]
            if lead.place.session is not None and lead.place.turn is not None
            for turn in range(lead.place.turn - REACH, lead.place.turn + REACH + 1)
        }
    )
    if not places:
        return []
    values = {
        "tenant": tenant.id,
        "sessions": [session for session, _ in places],
        "turns": [turn for _, turn in places],
        "before": _until(before),
        "most": _MOST_OF_A_TURN,
    }
    return [_document(row) for row in connection.execute(_NEIGHBOURS, values).fetchall()]


def _document(row: Sequence[Any]) -> Document:
    artifact_id, created_at, terms, session, turn, speaker, asks = row
    return Document(artifact_id, created_at, terms, Place(session, turn, speaker, asks))


def _from(period: Period | None) -> float:
    return _FAR_PAST if period is None else period.start.timestamp()


def _until(before: datetime | None, period: Period | None = None) -> float:
    ends = [before, period.end if period else None]
    return min((end.timestamp() for end in ends if end is not None), default=_FAR_FUTURE)


def _span_of(
    connection: Connection, tenant: TenantTotals, period: Period, before: datetime | None
) -> Span | None:
    """The rows between the first and the last of a period; those stored in another order are not.

    They are looked at by `newest_of` alone.
    """
    values = {"tenant": tenant.id, "start": _from(period), "before": _until(before, period)}
    first, last = connection.execute(_SPAN, values).fetchone() or (None, None)
    return Span(first, last) if first and last and first <= last else None


def _count(connection: Connection, tenant: TenantTotals, terms: Sequence[str]) -> dict[str, int]:
    values = {"terms": [_query(tenant.id, term) for term in terms], "most": _MOST_COUNTED}
    rows = connection.execute(_COUNT, values).fetchall()
    return {terms[at - 1]: _estimated(tenant, number, reached) for at, number, reached in rows}


def _estimated(tenant: TenantTotals, number: int, reached: int | None) -> int:
    """How many rows hold a term of which `number` were counted, in about the order of ids."""
    if number < _MOST_COUNTED or reached is None:
        return number
    looked_at = max(1, reached - tenant.oldest)
    share = max(1.0, (tenant.newest - tenant.oldest) / looked_at)
    return min(tenant.documents, round(number * share))


def _query(tenant_id: int, term: str) -> str:
    """A term as a tsquery. It is letters and digits only, and quoted, so never syntax."""
    return f"'{tenant_id}x{term}'"


def _is_fresh(counted_at: int, documents: int) -> bool:
    """Whether a count still serves: the tenant had `counted_at` documents then."""
    return counted_at <= documents <= counted_at + counted_at // 10


def _affordable(
    tenant: TenantTotals, terms: Sequence[str], frequencies: Mapping[str, int], span: Span
) -> tuple[list[str], int]:
    """The rarest terms whose rows are within MAX_ROWS, and the oldest row to look at; 0 for all.

    Of a span, a term is taken to have the share that the span has of all rows.
    """
    share = min(1.0, span.rows / tenant.span.rows)
    chosen: list[str] = []
    rows = 0.0
    for term in sorted(terms, key=lambda term: frequencies[term]):
        if chosen and rows + frequencies[term] * share > MAX_ROWS:
            break
        if frequencies[term]:
            chosen.append(term)
        rows += frequencies[term] * share
    if rows <= MAX_ROWS:
        return chosen, 0
    return chosen, span.last - int((span.last - span.first) * MAX_ROWS / rows)
