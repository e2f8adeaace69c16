"""Pick a bounded pool of what may be relevant, by its words, from an index in a SQL database.

A common word costs time in proportion to all that was ever stored. So the rarest terms go first,
until their rows exceed a budget; if they are few by then, the newest rows of the next terms are
looked at too, wherever they stand.
Recall takes the same time at turn 10 and at turn 100,000; the words left out still count when the
pool is ranked.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from acc_ace.memory.priors import REACH
from acc_ace.memory.ranking import Document, SearchQuery
from acc_ace.schemas.artifact import RecallQuery
from acc_ace.schemas.base import Tenant
from acc_ace.storage.tenant_totals import Span, TenantTotals, affordable
from acc_ace.storage.time_bounds import Times
from acc_ace.text.dates.periods import Period

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
        looks = affordable(
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
