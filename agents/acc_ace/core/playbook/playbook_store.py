"""Port of the playbook store: bullets by row, delta log, compare-and-swap on the version.

Observers are notified of commits; a learning job's commit is idempotent.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from acc_ace.core.schemas.base import PlaybookScope, Tenant
from acc_ace.core.schemas.delta import Author, PlaybookVersion
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook, StoredPlaybook


class PlaybookReader(Protocol):
    """Read playbooks and their history. Pages are newest first, at most `limit`.

    Raises StoreError when the store cannot be read, CorruptStoreError naming a damaged row.
    """

    async def load(self, scope: PlaybookScope, *, version: int | None = None) -> StoredPlaybook:
        """Return the current playbook or a version of it; version 0 is empty.

        Raises NotFoundError for an unknown version.
        """
        ...

    async def committed(self, scope: PlaybookScope, commit_id: str) -> StoredPlaybook | None:
        """Return the result of a named commit, or None if it did not happen."""
        ...

    async def replay(self, scope: PlaybookScope, *, version: int | None = None) -> Playbook:
        """Rebuild the playbook from the delta log alone; NotFoundError as `load`."""
        ...

    async def deltas(
        self, scope: PlaybookScope, *, limit: int = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """Return a page of the delta log; `before` is a record's seq."""
        ...

    async def history(
        self, scope: PlaybookScope, bullet_id: str, *, limit: int = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """Return the records of a bullet and of those merged into it."""
        ...

    async def held(
        self, scope: PlaybookScope, *, limit: int = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """Return the held operations that are pending review."""
        ...

    async def archived(
        self, scope: PlaybookScope, *, limit: int = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """Return the records of archived bullets that were not restored."""
        ...

    async def versions(
        self, scope: PlaybookScope, *, limit: int = 50, before: int | None = None
    ) -> Sequence[PlaybookVersion]:
        """Return the versions; `before` is a version."""
        ...

    async def resolve(self, scope: PlaybookScope, bullet_id: str) -> str | None:
        """Resolve an id to its live bullet: itself, or the survivor of its merge.

        None for a bullet without a survivor, and for an unknown id.
        """
        ...


class PlaybookStore(PlaybookReader, Protocol):
    """Store playbooks. Every change is atomic.

    Raises what a reader raises, and ConflictError when another commit came first.
    """

    async def commit(
        self,
        scope: PlaybookScope,
        playbook: Playbook,
        records: Sequence[DeltaRecord],
        *,
        expected_version: int,
        commit_id: str | None = None,
    ) -> StoredPlaybook:
        """Store a new version and its delta records.

        Records of held and rejected operations are logged too. If nothing was applied the
        version stays and only the log grows. `commit_id` is an idempotency key: a repeated
        commit changes nothing and returns the first one's result. A record that `resolves` a
        held one takes it off the held list. Raises ConflictError when the current version is
        not `expected_version` or the held operation was decided before, PlaybookError when
        the records do not replay to the playbook.
        """
        ...

    async def rollback(
        self, scope: PlaybookScope, version: int, *, expected_version: int, by: Author
    ) -> StoredPlaybook:
        """Restore the content and digest of an old version, as a new version.

        Raises NotFoundError for an unknown version.
        """
        ...

    async def erase(self, tenant: Tenant) -> int:
        """Delete the user's playbooks and their provenance in shared ones; return the row count."""
        ...


class PlaybookObserver(Protocol):
    """Notified after the store has committed; it cannot block, delay or undo a commit."""

    def opened(self, reader: PlaybookReader, scope: PlaybookScope) -> None:
        """A playbook was read; it may have changed unobserved. Never raises."""
        ...

    def changed(self, reader: PlaybookReader, scope: PlaybookScope) -> None:
        """A playbook has changed. Never raises."""
        ...

    async def settle(self) -> None:
        """Wait until every change has been processed. Never raises."""
        ...


@dataclass(frozen=True)
class IdempotentCommit:
    """Makes a learning job's commit idempotent; the job's id is the key."""

    job: str
    gone: Callable[[], Awaitable[bool]] | None = None
    """Whether the job's turn was rolled back or erased during the model calls."""

    async def settled(self, store: PlaybookStore, scope: PlaybookScope) -> bool:
        """Whether there is nothing left to commit. Raises StoreError."""
        if await self.is_committed(store, scope):
            return True
        return self.gone is not None and await self.gone()

    async def is_committed(self, store: PlaybookStore, scope: PlaybookScope) -> bool:
        """Whether the job was committed. Raises StoreError."""
        return await store.committed(scope, self.job) is not None

    def signed(self, records: Sequence[DeltaRecord]) -> list[DeltaRecord]:
        """The records labelled with the job's id."""
        return [record.model_copy(update={"job": self.job}) for record in records]
