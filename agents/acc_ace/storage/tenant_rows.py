"""The rows of users, on which all that is theirs hangs, and totals for their searches."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Self

from acc_ace.errors import StoreError
from acc_ace.memory.scoring import CorpusStatistics
from acc_ace.schemas.base import Tenant
from acc_ace.storage.sql_rows import Rows
from acc_ace.text.dates.periods import Period


def ensure_tenant(rows: Rows, tenant: Tenant) -> None:
    """Make the user's row if there is none. Each write of something of theirs begins so."""
    rows.run(
        "INSERT INTO tenants (app, user_id) VALUES (?, ?) ON CONFLICT (app, user_id) DO NOTHING",
        tenant,
    )


def tenant_number(rows: Rows, tenant: Tenant) -> int:
    """The user's number, given if it is new."""
    ensure_tenant(rows, tenant)
    row = rows.one("SELECT id FROM tenants WHERE app = ? AND user_id = ?", tenant)
    return _number(row, tenant)


def locked_tenant(rows: Rows, tenant: Tenant) -> int:
    """The user's number, given if it is new; nobody else counts or erases until the end.

    One statement, which waits for whoever erases the user and then makes the row anew. It changes
    no key, so that it waits for nobody who only refers to the row.
    """
    row = rows.one(
        "INSERT INTO tenants (app, user_id) VALUES (?, ?) "
        "ON CONFLICT (app, user_id) DO UPDATE SET documents = tenants.documents RETURNING id",
        tenant,
    )
    return _number(row, tenant)


def find_tenant(rows: Rows, tenant: Tenant) -> int | None:
    """The user's number, locked as `locked_tenant` does; None for one of whom nothing is kept."""
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


class IndexLookup(NamedTuple):
    """Terms that are looked for together."""

    terms: list[str]
    newest: int | None = None
    """Of a single term, only so many of the newest rows; None for all."""


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
    newest = [IndexLookup([term], left // len(common)) for term in common]
    return [*([IndexLookup(chosen)] if chosen else []), *newest]


_FAR_PAST, _FAR_FUTURE = -1e12, 1e12


class Times(NamedTuple):
    """From `start` until just before `end`, in seconds since 1970."""

    start: float
    end: float

    @classmethod
    def of(cls, before: datetime | None, period: Period | None = None) -> Self:
        """The times before a moment and within a period, where they are given."""
        ends = [before, period.end if period else None]
        return cls(
            period.start.timestamp() if period else _FAR_PAST,
            min((end.timestamp() for end in ends if end is not None), default=_FAR_FUTURE),
        )

    @property
    def has_start(self) -> bool:
        """Whether anything is too old."""
        return self.start > _FAR_PAST

    @property
    def has_end(self) -> bool:
        """Whether anything is too new."""
        return self.end < _FAR_FUTURE
