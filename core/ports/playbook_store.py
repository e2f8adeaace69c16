"""The authority on playbooks: bullets by row, delta log, compare-and-swap on the version."""

from collections.abc import Sequence
from typing import Protocol

from schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from schemas.tenancy import PlaybookScope, Tenant


class PlaybookStore(Protocol):
    """Keeps playbooks. Raises StoreError when the store cannot be read or written."""

    async def load(self, scope: PlaybookScope, *, version: int | None = None) -> StoredPlaybook:
        """The current playbook, or that of a version; version 0 is the empty playbook.

        Raises NotFoundError for a version that never was.
        """
        ...

    async def commit(
        self,
        scope: PlaybookScope,
        playbook: Playbook,
        records: Sequence[DeltaRecord],
        *,
        expected_version: int,
    ) -> StoredPlaybook:
        """Store a new version and its delta records, all or none.

        Records of held and rejected operations are logged too. If nothing was applied the
        version stays and only the log grows. Raises ConflictError when the current version is
        not `expected_version`.
        """
        ...

    async def deltas(
        self, scope: PlaybookScope, *, limit: int = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """A page of the delta log, newest first, at most `limit`; `before` is a record's seq."""
        ...

    async def replay(self, scope: PlaybookScope, *, version: int | None = None) -> Playbook:
        """The playbook rebuilt from empty by the delta log alone."""
        ...

    async def erase(self, tenant: Tenant) -> int:
        """Delete the user's own playbook and their provenance in shared logs; rows touched."""
        ...
