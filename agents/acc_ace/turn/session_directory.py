"""The session directory: its protocol, and the state changes of a session record.

Every store applies these same functions to a record.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.core.schemas.session import ReadThrough, SessionRecord
from acc_ace.unit_of_work import Write


class SessionDirectory(Protocol):
    """Store session records. Raises StoreError when it cannot be read or written."""

    async def open(self, key: SessionKey, *, at: datetime) -> SessionRecord:
        """Find or create the session and mark it active; an ended one starts over."""
        ...

    def open_write(self, key: SessionKey, *, at: datetime) -> Write:
        """`open` as a part of a unit of work."""
        ...

    async def find(self, key: SessionKey) -> SessionRecord | None:
        """Return the session, or None if it does not exist or was deleted."""
        ...

    async def list(
        self, tenant: Tenant, *, limit: int = 50, before: str | None = None
    ) -> Sequence[SessionRecord]:
        """Return a page of sessions, most recently active first, including deleted ones with notes.

        `before` is the last session of the previous page. Unreadable records are skipped and
        logged as errors; `names` includes them.
        """
        ...

    async def take_idle(self, app: str, *, since: datetime, retry_s: float) -> SessionKey | None:
        """Claim the session idle longest before `since` whose history is not offloaded yet.

        It is due again after `retry_s` more idle seconds, so a failed offload is retried, or when
        the session changes. Two processes never claim the same one.
        """
        ...

    def restored_write(
        self, key: SessionKey, *, turn: int, history_from: int | None, notes: Collection[str]
    ) -> Write:
        """The write of a rollback that undid the turns after `turn`; it removes `notes` too.

        Messages start after `history_from`; without it, their start is unchanged.
        """
        ...

    def reset_write(self, key: SessionKey, *, turn: int) -> Write:
        """The write that excludes messages up to `turn` from the history."""
        ...

    async def offloaded(
        self,
        key: SessionKey,
        *,
        at: datetime,
        notes: Sequence[str],
        through: ReadThrough | None = None,
    ) -> None:
        """Record that the history was offloaded up to a turn, with the notes it produced.

        Without `through`, the last known turn is left unchanged.
        """
        ...

    async def delete(self, key: SessionKey, *, at: datetime, keep_notes: bool) -> None:
        """Delete the record except the ids of notes that outlive the session.

        With `keep_notes` these are all its notes, otherwise those of an earlier session of its id.
        """
        ...

    async def knows_app(self, app: str) -> bool:
        """Whether anything is stored for an app: a user's data, or a playbook."""
        ...

    async def apps(self) -> Sequence[str]:
        """Return the apps for which anything is stored, by name, at most 100."""
        ...

    async def names(self, tenant: Tenant) -> Sequence[str]:
        """Return all sessions of a user, including those with unreadable records."""
        ...

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the user's records (of one session), readable or not; return how many."""
        ...


_TICK = timedelta(microseconds=1)

NOTES_KEPT = 64
"""Maximum note ids in a record; the oldest are dropped first, their artifacts stay."""


def opened(record: SessionRecord | None, session: str, *, at: datetime) -> SessionRecord:
    """The record at the start of a turn. Its times are monotonic.

    A turn is always after the last offload, even if that was stamped by a clock running ahead:
    the turn must not count as offloaded.
    """
    if record is None or record.ended or record.deleted_at is not None:
        notes = record.notes if record else []
        # Pending work of the earlier session tells the two apart by this time.
        began = at + _TICK if record is not None and record.created_at == at else at
        return SessionRecord(
            session=session,
            created_at=began,
            active_at=began,
            notes=notes,
            notes_left=notes,
        )
    active_at = max(at, record.active_at)
    if record.offloaded_at is not None and active_at <= record.offloaded_at:
        active_at = record.offloaded_at + _TICK
    return record.model_copy(update={"active_at": active_at})


def reset(record: SessionRecord, turn: int) -> SessionRecord:
    """The record after a reset at a turn."""
    return record.model_copy(update={"history_from": turn})


def restored(record: SessionRecord, turn: int, history_from: int | None) -> SessionRecord:
    """The record after a rollback that undid the turns after `turn`.

    The session is offloaded again: the notes of undone turns were removed, and other turns may
    have been restored.
    Without `history_from` the start of its messages is unchanged.
    """
    begin = record.history_from if history_from is None else history_from
    read = record.offloaded_through
    return record.model_copy(
        update={
            "history_from": begin,
            "offloaded_at": None,
            "offloaded_through": read if read is not None and read.turn <= turn else None,
            "restores": record.restores + 1,
        }
    )


def offloaded(
    record: SessionRecord,
    at: datetime,
    notes: Sequence[str],
    through: ReadThrough | None = None,
) -> SessionRecord:
    """The record after its history was offloaded up to a turn.

    A note produced again moves to the newest end.
    """
    came = list(dict.fromkeys(notes))
    known = [*(name for name in record.notes if name not in came), *came][-NOTES_KEPT:]
    read = through or record.offloaded_through
    read_up_to = record.model_copy(update={"offloaded_at": at, "offloaded_through": read})
    return _with_notes(read_up_to, known)


def before_last_turn(record: SessionRecord, at: datetime) -> datetime:
    """The time to record for an offload that did not read the last turn, so it stays due."""
    return min(at, record.active_at - _TICK)


def without_notes(record: SessionRecord, notes: Collection[str]) -> SessionRecord:
    """The record without notes that were derived from undone turns."""
    return _with_notes(record, [note for note in record.notes if note not in notes])


def deleted(record: SessionRecord, at: datetime, *, keep_notes: bool) -> SessionRecord | None:
    """The tombstone of a deleted session: the ids of surviving notes; None if there are none."""
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
    """Whether the session was active since the last offload."""
    if record.ended or record.deleted_at is not None:
        return False
    return record.offloaded_at is None or record.offloaded_at < record.active_at


def _with_notes(record: SessionRecord, notes: list[str]) -> SessionRecord:
    left = [note for note in record.notes_left if note in notes]
    return record.model_copy(update={"notes": notes, "notes_left": left})
