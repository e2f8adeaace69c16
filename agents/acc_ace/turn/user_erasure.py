"""Delete sessions and users, each in one transaction."""

from collections.abc import Collection, Sequence
from typing import Protocol

from acc_ace.schemas.artifact import Artifact
from acc_ace.schemas.session import SessionRecord
from acc_ace.schemas.tenancy import SessionKey, Tenant
from acc_ace.unit_of_work import Write


class UserErasure(Protocol):
    """Deletes what the stores of a process hold. Every method raises StoreError."""

    async def apps(self, user: str) -> set[str]:
        """Return the apps that store anything about a user."""
        ...

    async def sessions(self, tenant: Tenant) -> Collection[str]:
        """Return all sessions of a user, also those with unreadable records."""
        ...

    async def erase(self, tenant: Tenant, *, held: Collection[str]) -> dict[str, int] | None:
        """Delete all of a user: rows in one transaction, then files; return how much of what.

        The caller holds the sessions `held`. Deletes nothing and returns None when there are
        others: a turn may run in one, and would write again.
        """
        ...

    async def delete_sessions(
        self,
        keys: Collection[SessionKey],
        *,
        left: SessionRecord | None = None,
        notes: Sequence[Artifact] = (),
    ) -> dict[str, int]:
        """Delete sessions, which the caller holds, with ADK's rows and files; how much of what.

        Of a single one, `left` stays in the directory, and `notes` are stored, in the same
        transaction.
        """
        ...

    async def presence(self, tenant: Tenant) -> Write:
        """Make a part of a unit of work that raises ConflictError once the user is erased.

        A user of whom nothing is stored yet gets a row.
        """
        ...
