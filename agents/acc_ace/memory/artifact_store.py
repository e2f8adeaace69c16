"""External memory: store artifacts, recall a bounded number of them."""

from collections.abc import Sequence
from typing import Protocol

from acc_ace.schemas.artifact import Artifact, Recall, RecallQuery
from acc_ace.schemas.tenancy import SessionKey, Tenant
from acc_ace.unit_of_work import Write


class ArtifactStore(Protocol):
    """Store artifacts and recall them by text, in English and Japanese.

    Every method raises StoreError when the store cannot be read or written.
    """

    async def add(self, artifacts: Sequence[Artifact]) -> None:
        """Store artifacts atomically; an existing id is replaced."""
        ...

    def add_write(self, artifacts: Sequence[Artifact]) -> Write:
        """`add` as a part of a unit of work."""
        ...

    async def get(self, tenant: Tenant, artifact_id: str) -> Artifact | None:
        """Return the artifact, or None."""
        ...

    async def recall(self, query: RecallQuery) -> Recall:
        """Return up to `query.limit` candidates within `query.max_tokens`, best first.

        The newest TURN artifact of the query's session is always among them (it counts towards
        the limit, and is cut to the tokens left rather than dropped).
        """
        ...

    async def retire(self, key: SessionKey, after_turn: int) -> int:
        """Hide the session's artifacts of turns after `after_turn` from recall; return how many."""
        ...

    def retire_write(self, key: SessionKey, after_turn: int) -> Write:
        """`retire` as a part of a unit of work."""
        ...

    async def count(self, tenant: Tenant) -> int:
        """Return the number of the tenant's artifacts, including retired ones."""
        ...

    async def remove(self, tenant: Tenant, artifact_id: str) -> bool:
        """Delete one artifact; whether there was one."""
        ...

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's artifacts (of one session); return how many."""
        ...
