"""What the full-text index knows of one tenant: its rows, its totals, how common its terms are."""

import json
import sqlite3
from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from core.domain.bm25 import CorpusStatistics

_CACHED_TERMS = 50_000

# All in one statement, since FTS5 opens its vocabulary anew for each.
_COUNTS = """
    SELECT term, doc FROM json_each(?) CROSS JOIN artifact_vocabulary ON term = value
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
    oldest: int | None
    newest: int | None
    """The first and the last row; None when nothing was ever stored."""

    @property
    def span(self) -> Span:
        """All rows of the tenant."""
        return Span(self.oldest or 0, self.newest or 0)

    def prefixed(self, term: str) -> str:
        """A term as the index holds it: the tenant's number, an 'x', the term."""
        return f"{self.id}x{term}"


class TermFrequencies:
    """How many artifacts hold a term. Old counts are used while a tenant grew little since."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def of(
        self, connection: sqlite3.Connection, tenant: TenantTotals, terms: Iterable[str]
    ) -> dict[str, int]:
        """The count of each term among the tenant's artifacts."""
        indexed = {term: tenant.prefixed(term) for term in terms}
        unknown = [name for name in indexed.values() if not self._is_known(name, tenant)]
        if unknown:
            counted = dict(connection.execute(_COUNTS, (json.dumps(unknown),)).fetchall())
            for name in unknown:
                self._counts[name] = (counted.get(name, 0), tenant.documents)
        counts = {term: self._counts[name][0] for term, name in indexed.items()}
        while len(self._counts) > _CACHED_TERMS:
            self._counts.popitem(last=False)
        return counts

    def _is_known(self, name: str, tenant: TenantTotals) -> bool:
        _, documents = self._counts.get(name, (0, -1))
        return documents <= tenant.documents <= documents + documents // 10


def tenant_totals(connection: sqlite3.Connection, app: str, user: str) -> TenantTotals | None:
    """The totals of a tenant, or None when it never stored anything."""
    row = connection.execute(
        "SELECT id, documents, terms, oldest, newest FROM tenants WHERE app = ? AND user = ?",
        (app, user),
    ).fetchone()
    return TenantTotals(*row) if row else None


def statistics(tenant: TenantTotals, frequencies: dict[str, int]) -> CorpusStatistics:
    """What ranking needs to know of a tenant's artifacts."""
    return CorpusStatistics(tenant.documents, tenant.terms / max(tenant.documents, 1), frequencies)
