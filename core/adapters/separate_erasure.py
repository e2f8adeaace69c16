"""Erase a user from one store after the other, where no transaction can hold them together."""

from typing import Protocol, runtime_checkable

from core.adapters.stores import Stores
from schemas.job import Job
from schemas.tenancy import Tenant


@runtime_checkable
class _KnowsTenants(Protocol):
    """A store in memory, which knows whose things it has."""

    def tenants(self) -> set[Tenant]: ...


class SeparateErasure:
    """A UserErasure over stores in memory, which end with the process anyway."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    async def erase(self, tenant: Tenant, *, job: Job) -> dict[str, int]:
        """Delete the user from each store; which sessions there are stays known."""
        stores = self._stores
        erased = {
            "journal": await stores.journal.erase(tenant),
            "evidence": await stores.evidence.erase(tenant),
            "artifacts": await stores.artifacts.erase(tenant),
            "playbook": await stores.playbooks.erase(tenant),
            "jobs": await stores.jobs.erase(tenant),
        }
        await stores.jobs.enqueue(job)
        return erased

    async def apps(self, user: str) -> set[str]:
        """The apps that any of the stores holds something of the user for."""
        stores = self._stores
        every = (
            stores.journal,
            stores.evidence,
            stores.artifacts,
            stores.playbooks,
            stores.directory,
            stores.jobs,
        )
        known = [store.tenants() for store in every if isinstance(store, _KnowsTenants)]
        return {tenant.app for tenants in known for tenant in tenants if tenant.user == user}

    async def residue(self, tenant: Tenant) -> dict[str, int]:
        """What the stores themselves still find."""
        count = await self._stores.artifacts.count(tenant)
        sessions = await self._stores.journal.sessions(tenant)
        jobs = await self._stores.jobs.list(tenant)
        found = {"artifacts": count, "sessions": len(sessions), "jobs": len(jobs)}
        return {name: rows for name, rows in found.items() if rows}
