"""Files that users and their agents keep: what ADK calls artifacts."""

from collections.abc import AsyncIterator
from typing import NamedTuple, Protocol

from schemas.tenancy import Tenant


class UserFile(NamedTuple):
    """One file, or what is noted about one."""

    path: str
    """Where it is among the user's files; the session, the name and the version are part of it."""
    content: bytes


class UserFiles(Protocol):
    """The files of all users. Every method raises StoreError when they cannot be reached."""

    async def apps(self, user: str) -> set[str]:
        """The apps that a user has files of."""
        ...

    async def count(self, tenant: Tenant) -> int:
        """How many files the user has."""
        ...

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the user's files (of one session); how many."""
        ...

    def export(self, tenant: Tenant) -> AsyncIterator[UserFile]:
        """Every file of the user, one at a time."""
        ...
