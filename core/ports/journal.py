"""The journal: every committed CCS of a session, with its diff. The authority on state."""

from collections.abc import Sequence
from typing import Protocol

from schemas.commit import JournalEntry
from schemas.tenancy import SessionKey, Tenant


class Journal(Protocol):
    """Append-only log of states. Raises StoreError when it cannot be read or written."""

    async def head(self, key: SessionKey) -> JournalEntry | None:
        """The newest entry, or None before the first commit."""
        ...

    async def stamp(self, key: SessionKey) -> str | None:
        """SHA-256 of the newest entry's stored text, to compare a copy with; None before it."""
        ...

    async def append(self, key: SessionKey, entry: JournalEntry, *, expected_version: int) -> None:
        """Append atomically. `entry.state.version` must be `expected_version + 1`.

        Raises ConflictError when the newest version is not `expected_version` (0 = none yet).
        """
        ...

    async def get(self, key: SessionKey, version: int) -> JournalEntry | None:
        """The entry of a version, or None."""
        ...

    async def history(
        self, key: SessionKey, *, limit: int = 50, before_version: int | None = None
    ) -> Sequence[JournalEntry]:
        """A page of entries, newest first, at most `limit`."""
        ...

    async def sessions(
        self, tenant: Tenant, *, limit: int = 50, before: str | None = None
    ) -> Sequence[tuple[str, JournalEntry]]:
        """A page of (session, newest entry), most recently changed first.

        `before` is the session id that ended the previous page.
        """
        ...

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's entries (of one session); how many."""
        ...
