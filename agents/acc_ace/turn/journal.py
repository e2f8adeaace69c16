"""The journal: every committed CCS of a session, with its diff. The authority on state."""

from collections.abc import Sequence
from typing import Protocol

from acc_ace.schemas.commit import JournalEntry
from acc_ace.schemas.tenancy import SessionKey, Tenant
from acc_ace.unit_of_work import Write


class Journal(Protocol):
    """Append-only log of states. Raises StoreError when it cannot be read or written."""

    async def head(self, key: SessionKey) -> JournalEntry | None:
        """Return the newest entry, or None before the first commit."""
        ...

    async def append(self, key: SessionKey, entry: JournalEntry, *, expected_version: int) -> None:
        """Append by compare-and-swap. `entry.state.version` must be `expected_version + 1`.

        Raises ConflictError when the newest version is not `expected_version` (0 = none yet).
        """
        ...

    def append_write(self, key: SessionKey, entry: JournalEntry, *, expected_version: int) -> Write:
        """`append` as a part of a unit of work, the first one.

        When it finds that its commit took place before, the rest of the unit is skipped.
        """
        ...

    async def get(self, key: SessionKey, version: int) -> JournalEntry | None:
        """Return the entry of a version, or None."""
        ...

    async def history(
        self, key: SessionKey, *, limit: int = 50, before_version: int | None = None
    ) -> Sequence[JournalEntry]:
        """Return a page of entries, newest first, at most `limit`."""
        ...

    async def sessions(
        self, tenant: Tenant, *, limit: int = 50, before: str | None = None
    ) -> Sequence[tuple[str, JournalEntry]]:
        """Return a page of (session, newest entry), most recently changed first.

        `before` is the last session id of the previous page.
        """
        ...

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's entries (of one session); return how many."""
        ...
