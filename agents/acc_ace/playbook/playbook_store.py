"""The authority on playbooks: bullets by row, delta log, compare-and-swap on the version."""

from collections.abc import Sequence
from typing import Protocol

from acc_ace.playbook.playbook_merge import Author
from acc_ace.schemas.base import PlaybookScope, Tenant
from acc_ace.schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from acc_ace.schemas.playbook_version import Branch, PlaybookVersion


class PlaybookReader(Protocol):
    """Read playbooks and their history. Pages are newest first, at most `limit`.

    Raises StoreError when the store cannot be read, CorruptStoreError that names the row when it
    was damaged, NotFoundError for a branch that does not exist.
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

    async def branches(self, scope: PlaybookScope) -> Sequence[Branch]:
        """Return the branches other than main, by name."""
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
        version stays and only the log grows. A commit with the `commit_id` of one that took
        place changes nothing and gives what that one led to. A record that `resolves` a held
        one takes it off the held list. Raises ConflictError when the current version is not
        `expected_version` or the held operation was decided before, PlaybookError when the
        records do not lead to the playbook.
        """
        ...

    async def rollback(
        self, scope: PlaybookScope, version: int, *, expected_version: int, by: Author
    ) -> StoredPlaybook:
        """Restore the content and digest of an old version, as a new version.

        Raises NotFoundError for an unknown version.
        """
        ...

    async def fork(
        self, scope: PlaybookScope, branch: str, *, by: Author, version: int | None = None
    ) -> StoredPlaybook:
        """Create a branch from a version of another one (default: the current one).

        Raises InputError for a name that is none or one branch too many, ConflictError when the
        branch exists.
        """
        ...

    async def promote(
        self, scope: PlaybookScope, *, by: Author, expected_version: int | None = None
    ) -> StoredPlaybook:
        """Replace main's bullets with a branch's; the branch stays.

        `expected_version` is the main one's; without it, the one that the branch was forked from.
        Raises InputError when the scope is the main branch, ConflictError when main has moved.
        """
        ...

    async def drop(self, scope: PlaybookScope) -> None:
        """Delete a branch and its log. Raises InputError for main."""
        ...

    async def erase(self, tenant: Tenant) -> int:
        """Delete the user's playbooks and their provenance in shared ones; return the row count."""
        ...
