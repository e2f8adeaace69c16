"""The authority on playbooks: bullets by row, delta log, compare-and-swap on the version."""

from collections.abc import Sequence
from typing import Protocol

from core.domain.playbook_changes import Author
from schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from schemas.playbook_version import Branch, PlaybookVersion
from schemas.tenancy import PlaybookScope, Tenant


class PlaybookReader(Protocol):
    """What a playbook says and how it came to. Every page is newest first, at most `limit`.

    Raises StoreError when the store cannot be read, CorruptStoreError that names the row when it
    was damaged, NotFoundError for a branch that does not exist.
    """

    async def load(self, scope: PlaybookScope, *, version: int | None = None) -> StoredPlaybook:
        """The current playbook, or that of a version; version 0 is the empty playbook.

        Raises NotFoundError for a version that never was.
        """
        ...

    async def committed(self, scope: PlaybookScope, commit_id: str) -> StoredPlaybook | None:
        """What the commit of that name led to, or None if it did not take place."""
        ...

    async def replay(self, scope: PlaybookScope, *, version: int | None = None) -> Playbook:
        """The playbook rebuilt from empty by the delta log alone; NotFoundError as `load`."""
        ...

    async def deltas(
        self, scope: PlaybookScope, *, limit: int = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """A page of the delta log; `before` is a record's seq."""
        ...

    async def history(
        self, scope: PlaybookScope, bullet_id: str, *, limit: int = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """The records about a bullet, and about those that were merged into it."""
        ...

    async def held(
        self, scope: PlaybookScope, *, limit: int = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """The held operations that nobody decided yet."""
        ...

    async def archived(
        self, scope: PlaybookScope, *, limit: int = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """The records that archived a bullet which did not come back; it is in `before`."""
        ...

    async def versions(
        self, scope: PlaybookScope, *, limit: int = 50, before: int | None = None
    ) -> Sequence[PlaybookVersion]:
        """The versions; `before` is a version."""
        ...

    async def resolve(self, scope: PlaybookScope, bullet_id: str) -> str | None:
        """The live bullet that an id stands for: itself, or what it was merged into.

        None for a bullet that left with no successor, and for one that never was.
        """
        ...

    async def branches(self, scope: PlaybookScope) -> Sequence[Branch]:
        """The branches of the playbook besides the main one, by name."""
        ...


class PlaybookStore(PlaybookReader, Protocol):
    """Keeps playbooks. Every change is whole or nothing.

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
        """Store a new version with the content of an old one; its digest is that one's.

        Raises NotFoundError for a version that never was.
        """
        ...

    async def fork(
        self, scope: PlaybookScope, branch: str, *, by: Author, version: int | None = None
    ) -> StoredPlaybook:
        """Begin a branch with the content of a version of another one (the current one).

        Raises InputError for a name that is none or one branch too many, ConflictError when the
        branch exists.
        """
        ...

    async def promote(
        self, scope: PlaybookScope, *, by: Author, expected_version: int | None = None
    ) -> StoredPlaybook:
        """Make the bullets of a branch those of the main one; the branch stays.

        `expected_version` is the main one's; without it, the one that the branch was forked from.
        Raises InputError when the scope is the main branch, ConflictError when main has moved.
        """
        ...

    async def drop(self, scope: PlaybookScope) -> None:
        """Delete a branch with its log. Raises InputError for the main one."""
        ...

    async def erase(self, tenant: Tenant) -> int:
        """Delete the user's own playbook and their provenance in shared ones; rows touched."""
        ...
