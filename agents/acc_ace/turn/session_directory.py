"""The directory of sessions, and how a session's record changes.

Every store applies the same rules to a record.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from acc_ace.schemas.base import MemoryName, SessionKey, Tenant
from acc_ace.schemas.memory import Summary
from acc_ace.schemas.session import ReadThrough, SessionRecord
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

    async def take_idle(self, app: str, *, since: datetime, retry_s: float) -> SessionKey | None:
        """Take the session idle for longest before `since` whose history is not offloaded yet.

        It is due again when it has been idle for `retry_s` seconds more, so an offload that fails
        is repeated, or when it changes. Two processes never take the same one.
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
        """`restored`, without some of its notes, as a part of a unit of work."""
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


_TICK = timedelta(microseconds=1)

NOTES_KEPT = 64
"""Ids of notes that a record holds; the oldest are forgotten first, their artifacts stay."""


def opened(
    record: SessionRecord | None, session: str, *, at: datetime, memory: MemoryName
) -> SessionRecord:
    """The record at the begin of a turn. Time never runs backwards in it.

    A turn is always after the last offload, also when a clock that was ahead noted that one: its
    words must not be taken for offloaded.
    """
    if record is None or record.ended or record.deleted_at is not None:
        notes = record.notes if record else []
        # What is still to be done for the earlier session tells the two by this time.
        began = at + _TICK if record is not None and record.created_at == at else at
        return SessionRecord(
            session=session,
            created_at=began,
            active_at=began,
            memory=memory,
            notes=notes,
            notes_left=notes,
        )
    active_at = max(at, record.active_at)
    if record.offloaded_at is not None and active_at <= record.offloaded_at:
        active_at = record.offloaded_at + _TICK
    return record.model_copy(update={"active_at": active_at, "memory": memory})


def reset(record: SessionRecord, turn: int) -> SessionRecord:
    """The record of a session that begins anew after a turn."""
    return record.model_copy(update={"history_from": turn, "summary": None})


def restored(record: SessionRecord, turn: int, history_from: int | None) -> SessionRecord:
    """The record of a session that left its turns later than `turn`.

    A summary that covers one of them is dropped, and its turns are offloaded again: notes of those
    that were left are gone, and other turns may stand again.
    Without `history_from` its messages begin where they did.
    """
    begin = record.history_from if history_from is None else history_from
    summary, read = record.summary, record.offloaded_through
    stands = summary is not None and begin < summary.through_turn <= turn
    return record.model_copy(
        update={
            "history_from": begin,
            "summary": summary if stands else None,
            "offloaded_at": None,
            "offloaded_through": read if read is not None and read.turn <= turn else None,
            "restores": record.restores + 1,
        }
    )


def summarised(record: SessionRecord, summary: Summary) -> SessionRecord:
    """The record with a summary, unless that is overtaken.

    Or of words from before a reset, or started before the session went back to other turns, or for
    a deleted one of the same name. Which one it is for is told by when that began, not by when the
    summary was made: a clock that was ahead then would let each summary be late.
    """
    known = record.summary.through_turn if record.summary else 0
    late = (
        summary.through_turn <= max(known, record.history_from)
        or summary.restores != record.restores
        or summary.session_started != record.created_at
    )
    return record if late else record.model_copy(update={"summary": summary})


def offloaded(
    record: SessionRecord,
    at: datetime,
    notes: Sequence[str],
    through: ReadThrough | None = None,
) -> SessionRecord:
    """The record after its history, up to a turn, went to long-term memory.

    A note that came of it again is one of the newest.
    """
    came = list(dict.fromkeys(notes))
    known = [*(name for name in record.notes if name not in came), *came][-NOTES_KEPT:]
    read = through or record.offloaded_through
    read_up_to = record.model_copy(update={"offloaded_at": at, "offloaded_through": read})
    return _with_notes(read_up_to, known)


def before_last_turn(record: SessionRecord, at: datetime) -> datetime:
    """The time of an offload that has not read the last turn, which is still to be offloaded."""
    return min(at, record.active_at - _TICK)


def without_notes(record: SessionRecord, notes: Collection[str]) -> SessionRecord:
    """The record after some of its notes turned out to rest on turns that were undone."""
    return _with_notes(record, [note for note in record.notes if note not in notes])


def deleted(record: SessionRecord, at: datetime, *, keep_notes: bool) -> SessionRecord | None:
    """What is left of a deleted session: its notes, if they are kept, or those it did not make."""
    notes = record.notes if keep_notes else record.notes_left
    if not notes:
        return None
    return SessionRecord(
        session=record.session,
        created_at=record.created_at,
        active_at=record.active_at,
        notes=notes,
        notes_left=record.notes_left,
        offloaded_at=at,
        deleted_at=at,
    )


def must_be_offloaded(record: SessionRecord) -> bool:
    """Whether words were said since the last offload."""
    if record.ended or record.deleted_at is not None:
        return False
    return record.offloaded_at is None or record.offloaded_at < record.active_at


def _with_notes(record: SessionRecord, notes: list[str]) -> SessionRecord:
    left = [note for note in record.notes_left if note in notes]
    return record.model_copy(update={"notes": notes, "notes_left": left})
