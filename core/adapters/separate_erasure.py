"""Erase a user from one store after the other, where no transaction can hold them together."""

from core.adapters.stores import Stores
from schemas.job import Job
from schemas.tenancy import Tenant


class SeparateErasure:
    """A UserErasure over stores in memory, which end with the process anyway."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    async def erase(self, tenant: Tenant, *, job: Job) -> dict[str, int]:
        """Delete the user from each store."""
        stores = self._stores
        erased = {
            "journal": await stores.journal.erase(tenant),
            "evidence": await stores.evidence.erase(tenant),
            "artifacts": await stores.artifacts.erase(tenant),
            "playbook": await stores.playbooks.erase(tenant),
            "directory": await stores.directory.erase(tenant),
            "jobs": await stores.jobs.erase(tenant),
        }
        await stores.jobs.enqueue(job)
        return erased

    async def residue(self, tenant: Tenant) -> dict[str, int]:
        """What the stores themselves still find."""
        count = await self._stores.artifacts.count(tenant)
        sessions = await self._stores.journal.sessions(tenant)
        jobs = await self._stores.jobs.list(tenant)
        found = {"artifacts": count, "sessions": len(sessions), "jobs": len(jobs)}
        return {name: rows for name, rows in found.items() if rows}
