"""What an index knows of one tenant, and how much of it a search can afford."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from acc_ace.memory.scoring import CorpusStatistics


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
    """The first and the last row; 0 when nothing was ever stored."""

    @property
    def span(self) -> Span:
        """All rows of the tenant."""
        return Span(self.oldest, self.newest)

    def statistics(self, frequencies: Mapping[str, int]) -> CorpusStatistics:
        """What ranking needs to know of the tenant's artifacts."""
        return CorpusStatistics(self.documents, self.terms / max(self.documents, 1), frequencies)


def prefixed(tenant_id: int, term: str) -> str:
    """A term as the index holds it: the tenant's number, an 'x', the term."""
    return f"{tenant_id}x{term}"


_NEWEST_FOR_ONE = 4
"""Newest rows of common terms that are scored for each match that is lacking."""


class Look(NamedTuple):
    """Terms that are looked for together."""

    terms: list[str]
    newest: int | None = None
    """Of a single term, only so many of the newest rows; None for all."""


def affordable(
    tenant: TenantTotals,
    terms: Sequence[str],
    frequencies: Mapping[str, int],
    *,
    span: Span,
    enough: int,
    max_rows: int,
    common_terms: int,
) -> list[Look]:
    """What to look for: the rarest terms, as long as their rows are within `max_rows`.

    While those have less than `enough` rows, the newest rows of the next `common_terms` terms make
    up for it, in equal parts, some for each that is lacking. Of a span, a term is taken to have the
    share that the span has of all rows.
    """
    share = min(1.0, span.rows / tenant.span.rows)
    rarest = sorted(terms, key=lambda term: frequencies[term])
    chosen: list[str] = []
    common: list[str] = []
    rows = 0.0
    for at, term in enumerate(rarest):
        more = frequencies[term] * share
        if rows + more > max_rows:
            common = rarest[at : at + common_terms] if rows < enough else []
            break
        chosen.append(term)
        rows += more
    left = min(max_rows - round(rows), _NEWEST_FOR_ONE * (enough - round(rows)))
    newest = [Look([term], left // len(common)) for term in common]
    return [*([Look(chosen)] if chosen else []), *newest]
