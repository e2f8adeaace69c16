"""Erase a user from the stores, then from the cache before them."""

from core.ports.text_cache import TextCache
from core.ports.user_erasure import UserErasure
from schemas.job import Job
from schemas.tenancy import Tenant


class CachedErasure:
    """A UserErasure that is not done before the cache holds nothing of the user either."""

    def __init__(self, erasure: UserErasure, cache: TextCache) -> None:
        self._inner, self._cache = erasure, cache

    async def erase(self, tenant: Tenant, *, job: Job) -> dict[str, int]:
        """Delete rows, then entries. A cache that is away raises StoreError; `job` then stays."""
        erased = await self._inner.erase(tenant, job=job)
        return {**erased, "cache": await self._cache.erase(tenant)}

    async def apps(self, user: str) -> set[str]:
        """What the inner one finds; the cache only repeats what is in the stores."""
        return await self._inner.apps(user)

    async def residue(self, tenant: Tenant) -> dict[str, int]:
        """Rows that name the user, and entries of the user in the cache."""
        found = await self._inner.residue(tenant)
        entries = await self._cache.count(tenant)
        return {**found, "redis": entries} if entries else found
