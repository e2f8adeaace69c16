"""The rows of users, which all their data references, and totals for searches."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Self

from acc_ace.core.schemas.base import Tenant
from acc_ace.core.text.dates.periods import Period
from acc_ace.errors import StoreError
from acc_ace.memory.scoring import CorpusStatistics
from acc_ace.storage.sql_rows import Rows


def ensure_tenant(rows: Rows, tenant: Tenant) -> None:
    """Create the user's row if missing. Every write of user data starts with this."""
    rows.run(
        "INSERT INTO tenants (app, user_id) VALUES (?, ?) ON CONFLICT (app, user_id) DO NOTHING",
        tenant,
    )


def tenant_number(rows: Rows, tenant: Tenant) -> int:
    """The user's number; creates the row if missing."""
    ensure_tenant(rows, tenant)
    row = rows.one("SELECT id FROM tenants WHERE app = ? AND user_id = ?", tenant)
    return _number(row, tenant)


def locked_tenant(rows: Rows, tenant: Tenant) -> int:
    """Lock the user's row against other writers and erasure; creates it if missing.

    A single statement: it waits for a running erasure and then recreates the row. It changes no
    key, so it does not wait for transactions that only reference the row.
    """
    row = rows.one(
        "INSERT INTO tenants (app, user_id) VALUES (?, ?) "
        "ON CONFLICT (app, user_id) DO UPDATE SET documents = tenants.documents RETURNING id",
        tenant,
    )
    return _number(row, tenant)


def find_tenant(rows: Rows, tenant: Tenant) -> int | None:
    """The user's number, locked as by `locked_tenant`; None without a row."""
    row = rows.one(
        "UPDATE tenants SET documents = documents WHERE app = ? AND user_id = ? RETURNING id",
        tenant,
    )
    return int(row[0]) if row else None


def _number(row: tuple[Any, ...] | None, tenant: Tenant) -> int:
    if row is None:
        raise StoreError(f"the user {tenant.user!r} of {tenant.app!r} cannot be stored; try again")
    return int(row[0])


class Span(NamedTuple):
    """Rows of the index, both ends included."""

    first: int
    last: int

    @property
    def rows(self) -> int:
        """The maximum number of rows."""
        return self.last - self.first + 1


class TenantTotals(NamedTuple):
    """The row of a tenant: its number, and totals of its visible artifacts."""

    id: int
    documents: int
    terms: int
    oldest: int
    newest: int
    """The first and the last row; 0 if nothing was stored yet."""

    @property
    def span(self) -> Span:
        """All rows of the tenant."""
        return Span(self.oldest, self.newest)

    def statistics(self, frequencies: Mapping[str, int]) -> CorpusStatistics:
        """The corpus statistics for ranking."""
        return CorpusStatistics(self.documents, self.terms / max(self.documents, 1), frequencies)


def prefixed(tenant_id: int, term: str) -> str:
    """A term as indexed: the tenant's number, an 'x', the term."""
    return f"{tenant_id}x{term}"


_NEWEST_FOR_ONE = 4
"""Newest rows of common terms scored for each missing match."""


class IndexLookup(NamedTuple):
    """Terms searched in one lookup."""

    terms: list[str]
    newest: int | None = None
    """Search only this many newest rows of a single term; None for all."""


def plan_lookup(
    tenant: TenantTotals,
    terms: Sequence[str],
    frequencies: Mapping[str, int],
    *,
    span: Span,
    enough: int,
    max_rows: int,
    common_terms: int,
) -> list[IndexLookup]:
    """Choose the rarest terms whose rows together fit within `max_rows`.

    If those have fewer than `enough` rows, the newest rows of the next `common_terms` terms are
    added in equal parts. A term's rows are assumed to be spread evenly: a span has its share of
    them.
    """
    share = min(1.0, span.rows / tenant.span.rows)
    rarest = sorted(terms, key=lambda term: frequencies[term])
    plan_terms: list[str] = []
    common: list[str] = []
    rows = 0.0
    for at, term in enumerate(rarest):
        more = frequencies[term] * share
        if rows + more > max_rows:
            common = rarest[at : at + common_terms] if rows < enough else []
            break
        plan_terms.append(term)
        rows += more
    left = min(max_rows - round(rows), _NEWEST_FOR_ONE * (enough - round(rows)))
    newest = [IndexLookup([term], left // len(common)) for term in common]
    return [*([IndexLookup(plan_terms)] if plan_terms else []), *newest]


_FAR_PAST, _FAR_FUTURE = -1e12, 1e12


class Times(NamedTuple):
    """A half-open time range [start, end), in seconds since 1970."""

    start: float
    end: float

    @classmethod
    def of(cls, before: datetime | None, period: Period | None = None) -> Self:
        """The range before a moment and within a period, as far as given."""
        ends = [before, period.end if period else None]
        return cls(
            period.start.timestamp() if period else _FAR_PAST,
            min((end.timestamp() for end in ends if end is not None), default=_FAR_FUTURE),
        )

    @property
    def has_start(self) -> bool:
        """Whether the range has a start."""
        return self.start > _FAR_PAST

    @property
    def has_end(self) -> bool:
        """Whether the range has an end."""
        return self.end < _FAR_FUTURE
