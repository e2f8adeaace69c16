"""Everything that is held about a user, deleted together."""

from typing import Protocol

from schemas.job import Job
from schemas.tenancy import Tenant


class UserErasure(Protocol):
    """Erases users from all stores of a process, and looks for what is left."""

    async def erase(self, tenant: Tenant, *, job: Job) -> dict[str, int]:
        """Delete the user's rows, all or none where the stores share a database; how many.

        `job` stays, so that an erasure that is cut short is finished later. So do the records
        of which sessions there are: each is deleted while its session is held, since a turn that
        runs would write again. Doing it again deletes what is left. Raises StoreError.
        """
        ...

    async def apps(self, user: str) -> set[str]:
        """The apps that hold anything of a user, by whatever says so. Raises StoreError."""
        ...

    async def residue(self, tenant: Tenant) -> dict[str, int]:
        """Rows that name the user, by place; empty when nothing is held. Raises StoreError."""
        ...
