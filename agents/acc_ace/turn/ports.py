"""Ports of a turn: the store protocols that it uses, implemented by `acc_ace.storage`.

The journal and the session directory are in separate modules, with the rules that every store
applies.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import date
from typing import Any, NamedTuple, Protocol

from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.schemas.cost import Crossing, DaySum, ModelUse, StageCost, Totals
from acc_ace.core.schemas.interaction import Interaction, ToolStart
from acc_ace.core.schemas.session import SessionRecord
from acc_ace.core.schemas.trace import TurnTrace
from acc_ace.unit_of_work import Write


class EventBuffer(Protocol):
    """Events that a run has appended to its session but not stored yet."""

    @property
    def is_open(self) -> bool:
        """Whether it is neither written nor discarded yet."""
        ...

    def write(self, *ahead: Any) -> Write:  # noqa: ANN401 - events of a framework
        """The write of the buffered events and of `ahead`, which the run will append next."""
        ...

    def written(self) -> None:
        """Record the commit: from now on, appended events are stored at once."""
        ...

    def discard(self) -> None:
        """Drop buffered and future events of the run: the turn has failed."""
        ...


class EvidenceStore(Protocol):
    """Store interactions. Raises StoreError when the store cannot be read or written."""

    async def record(self, key: SessionKey, interaction: Interaction) -> None:
        """Store an interaction; the same (session, invocation_id) is replaced."""
        ...

    def record_write(self, key: SessionKey, interaction: Interaction) -> Write:
        """`record` as a part of a unit of work."""
        ...

    async def last(self, key: SessionKey) -> Interaction | None:
        """Return the newest answered interaction that was not undone, or None."""
        ...

    async def find(self, key: SessionKey, invocation_id: str) -> Interaction | None:
        """Return the interaction of an invocation, or None."""
        ...

    async def of_request(self, key: SessionKey, idempotency_key: str) -> Interaction | None:
        """Return the committed turn of an idempotency key, or None."""
        ...

    async def list(
        self,
        key: SessionKey,
        *,
        limit: int = 50,
        before_turn: int | None = None,
        before: str | None = None,
        after: str | None = None,
    ) -> Sequence[Interaction]:
        """Return a page of interactions, newest first, at most `limit`.

        `before_turn` limits it to earlier turns. `before` is the last invocation_id of the
        previous page: a turn that was undone and repeated is listed twice, so its number is no
        cursor. With `after`, the last invocation_id of such a page or '', it is the oldest first.
        """
        ...

    async def mark_undone(self, key: SessionKey, after_turn: int) -> int:
        """Mark the committed interactions after `after_turn` as UNDONE; return how many.

        Their idempotency keys may be used again.
        """
        ...

    def undone_write(self, key: SessionKey, after_turn: int) -> Write:
        """`mark_undone` as a part of a unit of work."""
        ...

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's interactions (of one session); return how many."""
        ...


class SessionLock(Protocol):
    """Mutual exclusion per session."""

    def hold(self, key: SessionKey, *, wait_s: float) -> AbstractAsyncContextManager[None]:
        """Hold the session lock while the context is open.

        Waits at most `wait_s` seconds, then raises SessionBusyError.
        """
        ...


class ToolStarts(Protocol):
    """Durable log of tool calls started but not committed. Raises StoreError."""

    async def start(self, key: SessionKey, start: ToolStart) -> None:
        """Record a call durably; replaces one with the same call id."""
        ...

    async def unsettled(self, key: SessionKey) -> Sequence[ToolStart]:
        """Return the session's calls that no commit has settled, in order of start."""
        ...

    def settle_write(self, key: SessionKey, call_ids: Collection[str]) -> Write:
        """Delete calls whose outcome is part of the same unit of work."""
        ...

    async def erase(self, key: SessionKey) -> int:
        """Delete all calls of a session; return how many."""
        ...


class UserRules(Protocol):
    """Store the user-wide rules. Raises StoreError."""

    async def of_user(self, tenant: Tenant) -> tuple[Sequence[ConstraintPin], int]:
        """Return the user's rules, oldest first, and the number of the next.

        Numbers are never reused.
        """
        ...

    def change_write(
        self, tenant: Tenant, *, added: Sequence[ConstraintPin], removed: Sequence[str]
    ) -> Write:
        """Add and remove rules as a part of a unit of work; a removed one may be added again.

        The write raises ConflictError when another session used the same id meanwhile.
        """
        ...


class Ccm(NamedTuple):
    """A compressor: its model, and the endpoint that serves it."""

    model: str
    endpoint: str = ""
    """Host and port, or the provider; empty if unknown."""


class CcmMarks(NamedTuple):
    """The newest marks of a CCM with a user."""

    user: str
    ccm: Ccm
    marks: str


class CcmRecords(Protocol):
    """Keeps how well each CCM has read rules, by user. Raises StoreError."""

    async def of_app(self, tenant: Tenant) -> Sequence[CcmMarks]:
        """Return the newest marks of each CCM with this user, and with some others of the app."""
        ...

    async def of_user(self, tenant: Tenant) -> Sequence[CcmMarks]:
        """Return the same of this user alone."""
        ...

    def add_write(self, tenant: Tenant, ccm: Ccm, marks: str) -> Write:
        """Append marks as a part of a unit of work; the oldest beyond a bound go."""
        ...


class SpendingStore(Protocol):
    """Keeps what model calls used and cost. Raises StoreError."""

    def use_write(self, key: SessionKey, uses: Sequence[ModelUse], *, day: date) -> Write:
        """Keep what one run has used so far; done again, also with more, it counts once."""
        ...

    async def add(self, key: SessionKey, uses: Sequence[ModelUse], *, day: date) -> None:
        """`use_write` alone, of a user who may have been erased: then nothing is kept."""
        ...

    async def of_day(self, tenant: Tenant, day: date) -> Totals:
        """What a user has spent on a day, in deleted sessions too."""
        ...

    async def of_session(self, key: SessionKey) -> Totals:
        """What a session has cost so far."""
        ...

    async def stages(self, key: SessionKey) -> Sequence[StageCost]:
        """What a session cost by stage and model; `saved` is not filled in."""
        ...

    async def uses(self, key: SessionKey, *, turns: int, before: int) -> Sequence[ModelUse]:
        """What the newest `turns` turns before one used, newest first."""
        ...

    async def crossing(self, key: SessionKey) -> Crossing:
        """From which turn on a session has used less than replaying it."""
        ...

    async def days(
        self, tenant: Tenant, *, limit: int, after: DaySum | None = None
    ) -> Sequence[DaySum]:
        """A page of what a user has spent, by day and session."""
        ...


class TraceStore(Protocol):
    """Keeps model calls and candidates of a session's newest turns. Raises StoreError."""

    def put_write(self, key: SessionKey, trace: TurnTrace) -> Write:
        """Keep a run of a turn, also again with more; older turns and other tries of it go."""
        ...

    async def of_turn(self, key: SessionKey, turn: int) -> Sequence[TurnTrace]:
        """Return the kept runs of a turn, oldest first."""
        ...

    async def turns(self, key: SessionKey) -> Sequence[int]:
        """Return the turns of which something is kept, in order."""
        ...


class UserErasure(Protocol):
    """Deletes users and sessions from all stores. Every method raises StoreError."""

    async def apps(self, user: str) -> set[str]:
        """Return the apps that store anything about a user."""
        ...

    async def sessions(self, tenant: Tenant) -> Collection[str]:
        """Return all sessions of a user, including those with unreadable records."""
        ...

    async def erase(self, tenant: Tenant, *, locked: Collection[str]) -> dict[str, int] | None:
        """Delete all data of a user: rows in one transaction, then files; return counts by kind.

        The caller has the locks of the sessions `locked`. Deletes nothing and returns None when
        there are others: a turn running in one of them would write again.
        """
        ...

    async def delete_sessions(
        self,
        keys: Collection[SessionKey],
        *,
        left: SessionRecord | None = None,
        notes: Sequence[Artifact] = (),
    ) -> dict[str, int]:
        """Delete sessions locked by the caller, with ADK's rows and files; return counts by kind.

        For a single session, the same transaction stores `left` in the directory as its
        tombstone, and `notes`.
        """
        ...

    async def presence(self, tenant: Tenant) -> Write:
        """Make a write that raises ConflictError when the user was erased meanwhile.

        A user without stored data gets a row.
        """
        ...


class UserFile(NamedTuple):
    """One file or its metadata."""

    path: str
    """Path below the user's folder; it includes the session, the name and the version."""
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
