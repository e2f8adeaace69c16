"""Files of users and their agents: ADK artifacts."""

from collections.abc import AsyncIterator
from typing import NamedTuple, Protocol

from acc_ace.schemas.tenancy import Tenant


class UserFile(NamedTuple):
    """One file or its metadata."""

    path: str
    """Where it is among the user's files; the session, the name and the version are part of it."""
    content: bytes


class UserFiles(Protocol):
    """The files of all users. Every method raises StoreError when they cannot be reached."""

    async def apps(self, user: str) -> set[str]:
        """Return the apps in which a user has files."""
        ...

    async def count(self, tenant: Tenant) -> int:
        """Return the number of the user's files."""
        ...

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the user's files (of one session); return how many."""
        ...

    def export(self, tenant: Tenant) -> AsyncIterator[UserFile]:
        """Yield every file of the user, one at a time."""
        ...
