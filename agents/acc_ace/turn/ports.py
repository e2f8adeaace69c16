"""Ports of a turn: what it needs of the stores, as protocols that `acc_ace.storage` implements.

The journal and the directory of sessions have modules of their own, with the rules that every
store applies.
"""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple, Protocol, TypeVar

from acc_ace.schemas.artifact import Artifact
from acc_ace.schemas.base import SessionKey, Tenant
from acc_ace.schemas.commit import ConstraintPin
from acc_ace.schemas.interaction import Interaction, ToolStart
from acc_ace.schemas.session import SessionRecord
from acc_ace.unit_of_work import Write

T = TypeVar("T")


class Database(Protocol):
    """Runs a transaction as one function, over rows, on a worker thread. Raises StoreError."""

    async def read(self, work: Callable[[Any], T]) -> T:
        """One consistent view of the database."""
        ...

    async def write(self, work: Callable[[Any], T]) -> T:
        """All or nothing. The work may run more than once, also after it was committed."""
        ...

    async def scrub(self) -> bool:
        """Leave no byte of what was deleted where a file could still hold it; whether it is so."""
        ...

    async def check(self) -> None:
        """Reach the database; raises StoreError."""
        ...

    async def close(self) -> None:
        """Finish running work and disconnect."""
        ...


class HeldEvents(Protocol):
    """What one run has appended to its session and not yet stored."""

    @property
    def is_open(self) -> bool:
        """Whether it is neither written nor discarded yet."""
        ...

    def write(self, *ahead: Any) -> Write:  # noqa: ANN401 - events of a framework
        """The write of all that is held, and of events that the run will append next."""
        ...

    def written(self) -> None:
        """Note that the commit took place: what the run appends now is stored at once."""
        ...

    def discard(self) -> None:
        """Drop what is held, and what the run still appends: the turn has failed."""
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
        """The committed turn that was sent under an idempotency key, or None."""
        ...

    async def list(
        self,
        key: SessionKey,
        *,
        limit: int = 50,
        before_turn: int | None = None,
        before: str | None = None,
    ) -> Sequence[Interaction]:
        """Return a page of interactions, newest first, at most `limit`.

        Of earlier turns alone with `before_turn`. The next page comes after the one whose
        invocation_id is `before`: a turn that was undone and repeated is listed twice, so
        its number cannot tell where a page ended.
        """
        ...

    async def mark_undone(self, key: SessionKey, after_turn: int) -> int:
        """Mark the committed interactions after `after_turn` as UNDONE; return how many.

        Their idempotency keys are free again.
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
    """Keeps what turns have started and not yet committed. Raises StoreError."""

    async def start(self, key: SessionKey, start: ToolStart) -> None:
        """Note a call, durably; the same call id again replaces it."""
        ...

    async def unsettled(self, key: SessionKey) -> Sequence[ToolStart]:
        """The calls of the session that no commit has settled, in the order of their start."""
        ...

    def settle_write(self, key: SessionKey, call_ids: Collection[str]) -> Write:
        """Forget calls whose outcome is part of the same unit of work."""
        ...

    async def erase(self, key: SessionKey) -> int:
        """Forget all calls of a session; how many."""
        ...


class UserRules(Protocol):
    """Keeps the rules that hold in every session of a user. Raises StoreError."""

    async def list(self, tenant: Tenant) -> Sequence[ConstraintPin]:
        """The user's rules, oldest first."""
        ...

    async def next_number(self, tenant: Tenant) -> int:
        """The number of the user's next rule; those of lifted rules are not given again."""
        ...

    def change_write(
        self, tenant: Tenant, *, added: Sequence[ConstraintPin], removed: Sequence[str]
    ) -> Write:
        """Add and lift rules as a part of a unit of work; a lifted one may be added again.

        It raises ConflictError when another session has given the same id in the meantime.
        """
        ...


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
