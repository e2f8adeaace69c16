"""Pick a bounded pool of candidates by lexical search from an index in a SQL database."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from acc_ace.core.schemas.artifact import Artifact, RecallQuery
from acc_ace.core.schemas.base import Tenant
from acc_ace.core.text.dates.periods import Period
from acc_ace.memory.priors import REACH, divided_terms, ends_asking, speaker_terms
from acc_ace.memory.ranking import Document, SearchQuery
from acc_ace.storage.sql_rows import encode
from acc_ace.storage.tenant_rows import Span, TenantTotals, Times, plan_lookup

MAX_ROWS = 768
"""Maximum index rows that one search scores."""

MAX_LEADS = 32
"""Best matches whose neighbouring turns are ranked too."""

_POOL = 4
"""Matches ranked per returned candidate."""

_MIN_POOL = 64

_LATER_POOL = 16
"""Matches for what the best matches of x_t name."""

_PERIOD_POOL = 48
"""Matches, and newest documents, ranked for each period that x_t names."""


class Breadth(NamedTuple):
    """Search breadth of a database, chosen by its costs."""

    state: int | None
    """Matches for the state's terms; None for as many as for x_t."""
    matches_per_lead: int
    """One in this many matches has its neighbouring turns ranked too."""
    rows_per_match: int | None
    """Rows scored per match; None for MAX_ROWS whatever the number of matches."""
    common_terms: int
    """Number of too common terms whose newest rows only are searched."""


class Scope(NamedTuple):
    """Where to search for matches, and how many of the best to return."""

    span: Span
    newest: int | None
    """Search only this many newest rows of the single term; None for all."""
    times: Times
    size: int


class ArtifactRows(Protocol):
    """Artifacts as seen by one transaction. Searches exclude retired ones."""

    @property
    def breadth(self) -> Breadth:
        """The search breadth."""
        ...

    def totals(self, tenant: Tenant) -> TenantTotals | None:
        """The totals of a tenant, or None when it has stored nothing."""
        ...

    def count_terms(self, tenant: TenantTotals, terms: Sequence[str]) -> Mapping[str, int]:
        """The number of artifacts with each term, in one statement; estimated for common ones."""
        ...

    def matches(
        self,
        tenant: TenantTotals,
        terms: Sequence[str],
        frequencies: Mapping[str, int],
        scope: Scope,
    ) -> list[Document]:
        """The documents of a scope that best match the terms, best first."""
        ...

    def span_of(self, tenant: TenantTotals, times: Times) -> Span | None:
        """The row ids of a time range, first to last; None if it is empty.

        Rows stored out of time order may lie outside of it; only `newest_of` finds them.
        """
        ...

    def newest_of(self, tenant: TenantTotals, times: Times, *, size: int) -> list[Document]:
        """The newest documents of a time range, at most `size`, whatever their content."""
        ...

    def neighbours(
        self, tenant: TenantTotals, leads: Sequence[Document], *, before: float
    ) -> list[Document]:
        """Documents of the leads' turns and neighbouring turns, including the leads."""
        ...

    def previous_turn(
        self, tenant: TenantTotals, session: str, *, before: float
    ) -> Document | None:
        """The session's newest TURN artifact; the last stored one of its turn."""
        ...

    def bodies(self, tenant: TenantTotals, artifact_ids: Sequence[str]) -> dict[str, str]:
        """The stored JSON of artifacts, by id; unknown ids are left out."""
        ...

    def page(self, tenant: TenantTotals, *, after: str, limit: int) -> list[tuple[str, str]]:
        """A page of (id, stored JSON) after the id `after`, ordered by id."""
        ...

    def count(self, tenant: TenantTotals) -> int:
        """The number of artifacts, including retired ones."""
        ...


def lexical_pool(
    rows: ArtifactRows,
    tenant: TenantTotals,
    query: RecallQuery,
    terms: SearchQuery,
    frequencies: Mapping[str, int],
) -> dict[str, Document]:
    """Documents that match x_t or the state, neighbours of the best, and those of named periods."""
    search = _Search(rows, tenant, frequencies, query.before)
    size = max(_MIN_POOL, _POOL * query.limit)
    documents = search.with_neighbours(
        (list(terms.text), size), (list(terms.state), rows.breadth.state or size)
    )
    for period in terms.periods:
        documents += search.of_period(list(terms.text), period)
    return {document.artifact_id: document for document in documents}


def later_pool(
    rows: ArtifactRows,
    tenant: TenantTotals,
    terms: Sequence[str],
    frequencies: Mapping[str, int],
    *,
    before: datetime | None,
) -> list[Document]:
    """A few documents that best match the terms which the best matches of x_t name."""
    search = _Search(rows, tenant, frequencies, before)
    return search.matches(terms, Times.of(before), tenant.span, _LATER_POOL)


def turns_around(leads: Sequence[Document]) -> list[tuple[str, int]]:
    """Distinct (session, turn) of the leads and of the turns around them."""
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
        """The best matches for each (terms, size), and the neighbours of the very best."""
        times = Times.of(self.before)
        documents: list[Document] = []
        leads: list[Document] = []
        for terms, size in wanted:
            matches = self.matches(terms, times, self.tenant.span, size)
            leads += matches[: min(MAX_LEADS, size // self.rows.breadth.matches_per_lead)]
            documents += matches
        return documents + self.rows.neighbours(self.tenant, leads, before=times.end)

    def of_period(self, terms: Sequence[str], period: Period) -> list[Document]:
        """Documents of a period that x_t names: the best matches for x_t, and the newest."""
        times = Times.of(self.before, period)
        span = self.rows.span_of(self.tenant, times)
        matches = self.matches(terms, times, span, _PERIOD_POOL) if span else []
        return matches + self.rows.newest_of(self.tenant, times, size=_PERIOD_POOL)

    def matches(self, terms: Sequence[str], times: Times, span: Span, size: int) -> list[Document]:
        """The best matches for the rarest terms, at most `size` per lookup."""
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
        documents: list[Document] = []
        for look in looks:
            scope = Scope(span, look.newest, times, size)
            documents += self.rows.matches(self.tenant, look.terms, self.frequencies, scope)
        return documents


class ArtifactRow(NamedTuple):
    """An artifact with its search terms, their number, and its stored JSON."""

    artifact: Artifact
    terms: str
    length: int
    body: str

    @staticmethod
    def of(artifact: Artifact) -> "ArtifactRow":
        """The row of an artifact."""
        terms = divided_terms(artifact)
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
"""Count a tenant's artifacts with each term; terms without any may be missing."""


class TermFrequencies:
    """Cache of term counts, valid while a tenant has grown little. Thread-safe."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._counts: OrderedDict[tuple[int, str], tuple[int, int]] = OrderedDict()

    def of(self, tenant: TenantTotals, terms: Sequence[str], count: CountTerms) -> dict[str, int]:
        """The number of artifacts with each term; missing counts are read in one query."""
        known = self._known(tenant, terms)
        missing = [term for term in terms if term not in known]
        if missing:
            counted = count(tenant, missing)
            counts = {term: counted.get(term, 0) for term in missing}
            self._keep(tenant, counts)
            known |= counts
        return known

    def _known(self, tenant: TenantTotals, terms: Sequence[str]) -> dict[str, int]:
        with self._mutex:
            cached = {term: self._counts.get((tenant.id, term)) for term in terms}
        return {
            term: count[0]
            for term, count in cached.items()
            if count is not None and _is_fresh(*count, tenant.documents)
        }

    def _keep(self, tenant: TenantTotals, counted: Mapping[str, int]) -> None:
        with self._mutex:
            for term, count in counted.items():
                self._counts[tenant.id, term] = (count, tenant.documents)
            while len(self._counts) > _CACHED_TERMS:
                self._counts.popitem(last=False)


def _is_fresh(count: int, counted_at: int, documents: int) -> bool:
    """Whether a count is fresh; the tenant had `counted_at` documents when it was taken.

    It is stale if the new documents could push a term over the limit for a full search.
    """
    new = documents - counted_at
    return 0 <= new <= counted_at // 10 and (count > MAX_ROWS or count + new <= MAX_ROWS)
