"""How common terms are among a tenant's artifacts, remembered between searches."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from acc_ace.storage.sql_artifact_pool import MAX_ROWS
from acc_ace.storage.tenant_totals import TenantTotals

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
