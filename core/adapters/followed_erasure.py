"""Erase a user, and from the files that follow the playbooks as well."""

from pathlib import Path

from core.adapters.playbook_file_names import directories_of
from core.ports.playbook_follower import PlaybookFollower
from core.ports.playbook_store import PlaybookReader
from core.ports.user_erasure import UserErasure
from schemas.job import Job
from schemas.tenancy import Tenant


class FollowedErasure:
    """A UserErasure over another one, and over playbook files in a directory."""

    def __init__(
        self,
        inner: UserErasure,
        reader: PlaybookReader,
        follower: PlaybookFollower,
        directory: Path,
    ) -> None:
        self._inner, self._reader = inner, reader
        self._follower, self._directory = follower, directory

    async def erase(self, tenant: Tenant, *, job: Job) -> dict[str, int]:
        """Delete the user's rows, then write the files anew; StoreError if one is left."""
        erased = await self._inner.erase(tenant, job=job)
        await self._follower.erased(self._reader, tenant)
        return erased

    async def apps(self, user: str) -> set[str]:
        """What the inner one finds; files only follow what is in the stores."""
        return await self._inner.apps(user)

    async def residue(self, tenant: Tenant) -> dict[str, int]:
        """What the inner one finds, and how many of the user's directories are left."""
        found = await self._inner.residue(tenant)
        left = directories_of(self._directory, tenant)
        return {**found, "playbook_files": len(left)} if left else found
