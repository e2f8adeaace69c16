"""What an index knows of one tenant, and how much of it a search can afford."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from core.domain.bm25 import CorpusStatistics


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
    oldest: int | None
    newest: int | None
    """The first and the last row; None or 0 when nothing was ever stored."""

    @property
    def span(self) -> Span:
        """All rows of the tenant."""
        return Span(self.oldest or 0, self.newest or 0)

    def statistics(self, frequencies: Mapping[str, int]) -> CorpusStatistics:
        """What ranking needs to know of the tenant's artifacts."""
        return CorpusStatistics(self.documents, self.terms / max(self.documents, 1), frequencies)


def prefixed(tenant_id: int, term: str) -> str:
    """A term as the index holds it: the tenant's number, an 'x', the term."""
    return f"{tenant_id}x{term}"


def affordable(
    tenant: TenantTotals,
    terms: Sequence[str],
    frequencies: Mapping[str, int],
    *,
    span: Span,
    max_rows: int,
) -> tuple[list[str], int | None]:
    """The rarest terms whose rows are within `max_rows`, and from which row on; None for all.

    The rarest is always among them; if it alone has more rows, only the newest are looked at. Of
    a span, a term is taken to have the share that the span has of all rows.
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
        return chosen, None
    return chosen, span.last - int((span.last - span.first) * max_rows / rows)
