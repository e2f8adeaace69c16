"""Directory of sessions and their metadata."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from acc_ace.schemas.memory import Summary
from acc_ace.schemas.memory_name import MemoryName
from acc_ace.schemas.session import ReadThrough, SessionRecord
from acc_ace.schemas.tenancy import SessionKey, Tenant
from acc_ace.unit_of_work import Write


class SessionDirectory(Protocol):
    """Store session records. Raises StoreError when it cannot be read or written."""

    async def open(self, key: SessionKey, *, at: datetime, memory: MemoryName) -> SessionRecord:
        """Find or create the session and mark it active; an ended one starts over."""
        ...

    def open_write(self, key: SessionKey, *, at: datetime, memory: MemoryName) -> Write:
        """`open` as a part of a unit of work."""
        ...

    async def find(self, key: SessionKey) -> SessionRecord | None:
        """Return the session, or None if it does not exist or was deleted."""
        ...

    async def list(
        self, tenant: Tenant, *, limit: int = 50, before: str | None = None
    ) -> Sequence[SessionRecord]:
        """Return a page of sessions, most recently active first, including deleted ones with notes.

        `before` is the session that ended the previous page. One that cannot be read is passed
        over with an error in the log; `names` has it.
        """
        ...

    async def idle(
        self,
        app: str,
        *,
        since: datetime,
        limit: int = 50,
        after: tuple[SessionKey, SessionRecord] | None = None,
    ) -> Sequence[tuple[SessionKey, SessionRecord]]:
        """Sessions not active since then, whose history has not been offloaded; oldest first.

        `after` is the session that ended the previous page. One that cannot be read is passed
        over with an error in the log.
        """
        ...

    async def claim(
        self, key: SessionKey, record: SessionRecord, *, now: datetime, lease_s: float
    ) -> bool:
        """Lease an idle session that is still as `record` says, to offload it; whether it is ours.

        A lease ends by itself, or with the next change of the session.
        """
        ...

    async def reset(self, key: SessionKey, *, turn: int) -> None:
        """Start the messages after `turn`, without a summary."""
        ...

    async def restored(
        self, key: SessionKey, *, turn: int, history_from: int | None = None
    ) -> None:
        """Note that the session left its turns later than `turn`, for older ones or others.

        A summary of them is forgotten, and one that is in the making will not be kept. The
        messages begin after `history_from`; without it, where they did.
        """
        ...

    def restored_write(
        self, key: SessionKey, *, turn: int, history_from: int | None, notes: Collection[str]
    ) -> Write:
        """`restored` and `forget_notes` as a part of a unit of work."""
        ...

    def reset_write(self, key: SessionKey, *, turn: int) -> Write:
        """`reset` as a part of a unit of work."""
        ...

    async def summarise(self, key: SessionKey, summary: Summary) -> None:
        """Store a finished summary, unless a later one exists."""
        ...

    async def offloaded(
        self,
        key: SessionKey,
        *,
        at: datetime,
        notes: Sequence[str],
        through: ReadThrough | None = None,
    ) -> None:
        """Note that the history went to long-term memory up to a turn, and what came of it.

        Without `through`, what is known of that stays.
        """
        ...

    async def forget_notes(self, key: SessionKey, notes: Collection[str]) -> None:
        """Remove some of the session's notes from its record."""
        ...

    async def delete(self, key: SessionKey, *, at: datetime, keep_notes: bool) -> None:
        """Delete the record, or all of it but the ids of notes that outlive the session.

        Those are its notes with `keep_notes`, without it those an earlier session of its name left.
        """
        ...

    async def names(self, tenant: Tenant) -> Sequence[str]:
        """Return all sessions of a user, including those with unreadable records."""
        ...

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the user's records (of one session), readable or not; return how many."""
        ...
