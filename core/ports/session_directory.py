"""Which sessions there are, and what became of each."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from schemas.memory import Summary
from schemas.memory_name import MemoryName
from schemas.session import ReadThrough, SessionRecord
from schemas.tenancy import SessionKey, Tenant


class SessionDirectory(Protocol):
    """Keeps session records. Raises StoreError when it cannot be read or written."""

    async def open(self, key: SessionKey, *, at: datetime, memory: MemoryName) -> SessionRecord:
        """Find or create the session and note that it is active; an ended one begins anew."""
        ...

    async def renew(self, key: SessionKey, record: SessionRecord) -> None:
        """Put a record in the place of the session's own, which need not be readable."""
        ...

    async def find(self, key: SessionKey) -> SessionRecord | None:
        """The session, or None when there is none or it was deleted."""
        ...

    async def stamp(self, key: SessionKey) -> str | None:
        """SHA-256 of the record's stored text, to compare a copy with; None where `find` is."""
        ...

    async def list(
        self, tenant: Tenant, *, limit: int = 50, before: str | None = None
    ) -> Sequence[SessionRecord]:
        """A page of sessions, deleted ones with kept notes included, most recently active first.

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

    async def reset(self, key: SessionKey, *, turn: int) -> None:
        """Let the messages begin after `turn`, with no summary."""
        ...

    async def restored(
        self, key: SessionKey, *, turn: int, history_from: int | None = None
    ) -> None:
        """Note that the session left its turns later than `turn`, for older ones or others.

        A summary of them is forgotten, and one that is in the making will not be kept. The
        messages begin after `history_from`; without it, where they did.
        """
        ...

    async def summarise(self, key: SessionKey, summary: Summary) -> None:
        """Keep a finished summary, unless a later one is there already."""
        ...

    async def unsummarise(self, key: SessionKey, *, history_from: int | None = None) -> None:
        """Forget the summary, for its turns are deleted; one in the making will not be kept.

        The messages begin after `history_from`; without it, where they did.
        """
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
        """No longer know some of the session's notes."""
        ...

    async def ended(self, key: SessionKey, *, keep_notes: bool) -> None:
        """Note that all of a session but its record is deleted; the next turn begins another one.

        It keeps the ids of the notes that `delete` keeps.
        """
        ...

    async def delete(self, key: SessionKey, *, at: datetime, keep_notes: bool) -> None:
        """Delete the record, or all of it but the ids of notes that outlive the session.

        Those are its notes with `keep_notes`, without it those an earlier session of its name left.
        """
        ...

    async def names(self, tenant: Tenant) -> Sequence[str]:
        """All sessions of a user that have a record, also one that cannot be read."""
        ...

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the user's records (of one session), readable or not; how many."""
        ...
