"""Pick a bounded pool of what may be relevant, by its words, from an index in a SQL database."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from acc_ace.memory.priors import REACH, ends_asking, speaker_terms
from acc_ace.memory.ranking import Document, SearchQuery
from acc_ace.schemas.artifact import Artifact, RecallQuery
from acc_ace.schemas.base import Tenant
from acc_ace.storage.sql_rows import encode
from acc_ace.storage.tenant_rows import Span, TenantTotals, Times, plan_lookup
from acc_ace.text.dates.periods import Period
from acc_ace.text.search_terms import index_terms

MAX_ROWS = 768
"""Rows of the index that one search may score."""

MAX_LEADS = 32
"""Best matches whose neighbouring turns are ranked too."""

_POOL = 4
"""Matches looked at for each candidate that is returned."""

_LEAST_POOL = 64

_PERIOD_POOL = 48
"""Matches, and newest documents, looked at of each time that x_t names."""


class Breadth(NamedTuple):
    """How widely a database looks, by what that costs there."""

    state: int | None
    """Matches of the state, which never decides against x_t; None for as many as of x_t."""
    matches_per_lead: int
    """Of so many matches, one has its neighbouring turns ranked too."""
    rows_per_match: int | None
    """Rows scored for each match; None for MAX_ROWS however few matches are wanted."""
    common_terms: int
    """Terms too common to be looked for whole of which the newest rows are looked at."""


class Scope(NamedTuple):
    """Where matches are looked for, and how many of the best are wanted."""

    span: Span
    newest: int | None
    """Of the one term that is looked for, only so many of the newest rows; None for all."""
    times: Times
    size: int


class ArtifactRows(Protocol):
    """What one transaction sees of artifacts. A search never finds retired ones."""

    @property
    def breadth(self) -> Breadth:
        """How widely to look."""
        ...

    def totals(self, tenant: Tenant) -> TenantTotals | None:
        """The totals of a tenant, or None when it never stored anything."""
        ...

    def count_terms(self, tenant: TenantTotals, terms: Sequence[str]) -> Mapping[str, int]:
        """How many artifacts hold each term, in one statement; about, of a common one."""
        ...

    def matches(
        self,
        tenant: TenantTotals,
        terms: Sequence[str],
        frequencies: Mapping[str, int],
        scope: Scope,
    ) -> list[Document]:
        """The documents of a scope that match one of the terms best, best first."""
        ...

    def span_of(self, tenant: TenantTotals, times: Times) -> Span | None:
        """From the first row of these times to the last; None where there is none.

        Rows stored in another order than that of their times may lie outside of it; `newest_of`
        alone looks at them.
        """
        ...

    def newest_of(self, tenant: TenantTotals, times: Times, *, size: int) -> list[Document]:
        """The newest documents of these times, at most `size`, whatever they say."""
        ...

    def neighbours(
        self, tenant: TenantTotals, leads: Sequence[Document], *, before: float
    ) -> list[Document]:
        """What stands beside the leads in their sessions, the leads themselves included."""
        ...

    def previous_turn(
        self, tenant: TenantTotals, session: str, *, before: float
    ) -> Document | None:
        """The newest TURN artifact of the session; of one turn, the one stored last."""
        ...

    def bodies(self, tenant: TenantTotals, artifact_ids: Sequence[str]) -> dict[str, str]:
        """The stored JSON of artifacts, by id; those that are not there are left out."""
        ...

    def page(self, tenant: TenantTotals, *, after: str, limit: int) -> list[tuple[str, str]]:
        """Ids after `after`, with the stored JSON of each, by id."""
        ...

    def count(self, tenant: TenantTotals) -> int:
        """How many artifacts there are, retired ones included."""
        ...


def lexical_pool(
    rows: ArtifactRows,
    tenant: TenantTotals,
    query: RecallQuery,
    terms: SearchQuery,
    frequencies: Mapping[str, int],
) -> dict[str, Document]:
    """Documents that match x_t or the state, what stands beside the best, and those of times."""
    search = _Search(rows, tenant, frequencies, query.before)
    size = max(_LEAST_POOL, _POOL * query.limit)
    found = search.with_neighbours(
        (list(terms.text), size), (list(terms.state), rows.breadth.state or size)
    )
    for period in terms.periods:
        found += search.of_period(list(terms.text), period)
    return {document.artifact_id: document for document in found}


def places_beside(leads: Sequence[Document]) -> list[tuple[str, int]]:
    """(session, turn) of the leads and of the turns around them, each once."""
    return sorted(
        {
            (lead.place.session, turn)
            for lead in leads
            if lead.place.session is not None and lead.place.turn is not None
            for turn in range(lead.place.turn - REACH, lead.place.turn + REACH + 1)
        }
    )


class _Search(NamedTuple):
    rows: ArtifactRows
    tenant: TenantTotals
    frequencies: Mapping[str, int]
    before: datetime | None

    def with_neighbours(self, *wanted: tuple[Sequence[str], int]) -> list[Document]:
        """So many of the best matches of each list of terms, and what stands beside the best."""
        times = Times.of(self.before)
        found: list[Document] = []
        leads: list[Document] = []
        for terms, size in wanted:
            matches = self._matches(terms, times, self.tenant.span, size)
            leads += matches[: min(MAX_LEADS, size // self.rows.breadth.matches_per_lead)]
            found += matches
        return found + self.rows.neighbours(self.tenant, leads, before=times.end)

    def of_period(self, terms: Sequence[str], period: Period) -> list[Document]:
        """Documents of a time that x_t names: those that match x_t best, and the newest."""
        times = Times.of(self.before, period)
        span = self.rows.span_of(self.tenant, times)
        matches = self._matches(terms, times, span, _PERIOD_POOL) if span else []
        return matches + self.rows.newest_of(self.tenant, times, size=_PERIOD_POOL)

    def _matches(self, terms: Sequence[str], times: Times, span: Span, size: int) -> list[Document]:
        """The best matches of the rarest terms, at most `size` of what is looked for at once."""
        each = self.rows.breadth.rows_per_match
        looks = plan_lookup(
            self.tenant,
            terms,
            self.frequencies,
            span=span,
            enough=size,
            max_rows=min(MAX_ROWS, each * size) if each else MAX_ROWS,
            common_terms=self.rows.breadth.common_terms,
        )
        found: list[Document] = []
        for look in looks:
            scope = Scope(span, look.newest, times, size)
            found += self.rows.matches(self.tenant, look.terms, self.frequencies, scope)
        return found


class ArtifactRow(NamedTuple):
    """An artifact with its search terms, their number and the JSON that is stored."""

    artifact: Artifact
    terms: str
    length: int
    body: str

    @staticmethod
    def of(artifact: Artifact) -> "ArtifactRow":
        """The row of an artifact."""
        terms = index_terms(artifact.content)
        return ArtifactRow(artifact, terms, len(terms.split()), encode(artifact))

    @property
    def columns(self) -> tuple[object, ...]:
        """artifact_id, session, kind, turn, created_at, length, speaker and asks."""
        artifact = self.artifact
        return (
            artifact.artifact_id,
            artifact.session,
            artifact.kind.value,
            artifact.turn,
            artifact.created_at.timestamp(),
            self.length,
            speaker_terms(artifact.content),
            ends_asking(artifact.content),
        )


_CACHED_TERMS = 50_000

CountTerms = Callable[[TenantTotals, Sequence[str]], Mapping[str, int]]
"""How many of the tenant's artifacts hold each of the terms; those that none holds may lack."""


class TermFrequencies:
    """Counts of terms. Old ones are used while a tenant grew little since. Safe in threads."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._counts: OrderedDict[tuple[int, str], tuple[int, int]] = OrderedDict()

    def of(self, tenant: TenantTotals, terms: Sequence[str], count: CountTerms) -> dict[str, int]:
        """How many artifacts hold each term; what is not known is counted, all at once."""
        known = self._known(tenant, terms)
        missing = [term for term in terms if term not in known]
        if missing:
            counted = count(tenant, missing)
            found = {term: counted.get(term, 0) for term in missing}
            self._keep(tenant, found)
            known |= found
        return known

    def _known(self, tenant: TenantTotals, terms: Sequence[str]) -> dict[str, int]:
        with self._mutex:
            cached = {term: self._counts.get((tenant.id, term)) for term in terms}
        return {
            term: found[0]
            for term, found in cached.items()
            if found is not None and _is_fresh(*found, tenant.documents)
        }

    def _keep(self, tenant: TenantTotals, counted: Mapping[str, int]) -> None:
        with self._mutex:
            for term, count in counted.items():
                self._counts[tenant.id, term] = (count, tenant.documents)
            while len(self._counts) > _CACHED_TERMS:
                self._counts.popitem(last=False)


def _is_fresh(count: int, counted_at: int, documents: int) -> bool:
    """Whether a count still serves: the tenant had `counted_at` documents then.

    Not when all that is new could make too common what was rare enough to be looked for whole.
    """
    new = documents - counted_at
    return 0 <= new <= counted_at // 10 and (count > MAX_ROWS or count + new <= MAX_ROWS)
