"""Evidence: every turn's x_t, tool results and decision."""

from collections.abc import Sequence
from typing import Protocol

from acc_ace.schemas.interaction import Interaction
from acc_ace.schemas.tenancy import SessionKey, Tenant
from acc_ace.unit_of_work import Write


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
