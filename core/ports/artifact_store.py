"""External memory: store artifacts, recall a bounded number of them."""

from collections.abc import Sequence
from typing import Protocol

from schemas.artifact import Artifact, Recall, RecallQuery
from schemas.tenancy import SessionKey, Tenant


class ArtifactStore(Protocol):
    """Stores artifacts and recalls them by text, for English and Japanese.

    Every method raises StoreError when the store cannot be read or written.
    """

    async def add(self, artifacts: Sequence[Artifact]) -> None:
        """Store artifacts, all or none; one whose id is known to the tenant replaces it."""
        ...

    async def get(self, tenant: Tenant, artifact_id: str) -> Artifact | None:
        """The artifact, or None."""
        ...

    async def recall(self, query: RecallQuery) -> Recall:
        """At most `query.limit` candidates of the tenant within `query.max_tokens`, best first.

        The newest TURN artifact of the query's session is always among them (it counts towards
        the limit, and is cut to the tokens left rather than dropped).
        """
        ...

    async def retire(self, key: SessionKey, after_turn: int) -> int:
        """Hide the session's artifacts of turns later than `after_turn` from recall; how many."""
        ...

    async def count(self, tenant: Tenant) -> int:
        """How many artifacts the tenant has, retired ones included."""
        ...

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's artifacts (of one session); how many."""
        ...
