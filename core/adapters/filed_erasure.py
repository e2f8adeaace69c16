"""Erase a user from the stores, then the files of the user."""

from core.ports.user_erasure import UserErasure
from core.ports.user_files import UserFiles
from schemas.job import Job
from schemas.tenancy import Tenant


class FiledErasure:
    """A UserErasure that is not done before the user's files are gone as well."""

    def __init__(self, inner: UserErasure, files: UserFiles) -> None:
        self._inner, self._files = inner, files

    async def erase(self, tenant: Tenant, *, job: Job) -> dict[str, int]:
        """Delete rows, then files. Files that cannot be deleted raise StoreError; `job` stays."""
        erased = await self._inner.erase(tenant, job=job)
        return {**erased, "files": await self._files.erase(tenant)}

    async def apps(self, user: str) -> set[str]:
        """The apps that hold rows or files of a user."""
        return await self._inner.apps(user) | await self._files.apps(user)

    async def residue(self, tenant: Tenant) -> dict[str, int]:
        """Rows that name the user, and how many files are left."""
        found = await self._inner.residue(tenant)
        left = await self._files.count(tenant)
        return {**found, "files": left} if left else found
