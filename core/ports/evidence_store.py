"""Evidence: every turn's x_t, tool results and decision."""

from collections.abc import Sequence
from typing import Protocol

from schemas.interaction import Interaction
from schemas.tenancy import SessionKey, Tenant


class EvidenceStore(Protocol):
    """Keeps interactions. Raises StoreError when the store cannot be read or written."""

    async def record(self, key: SessionKey, interaction: Interaction) -> None:
        """Store an interaction; the same (session, invocation_id) again replaces it."""
        ...

    async def last(self, key: SessionKey) -> Interaction | None:
        """The newest interaction that was answered and not undone, or None."""
        ...

    async def find(self, key: SessionKey, invocation_id: str) -> Interaction | None:
        """The interaction of an invocation, or None."""
        ...

    async def list(
        self,
        key: SessionKey,
        *,
        limit: int = 50,
        before_turn: int | None = None,
        before: str | None = None,
    ) -> Sequence[Interaction]:
        """A page of interactions, newest first, at most `limit`.

        Of earlier turns alone with `before_turn`. The next page comes after the one whose
        invocation_id is `before`: a turn that was undone and taken again stands there twice, so
        its number cannot tell where a page ended.
        """
        ...

    async def mark_undone(self, key: SessionKey, after_turn: int) -> int:
        """Mark the answered interactions of turns later than `after_turn` UNDONE; how many."""
        ...

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's interactions (of one session); how many."""
        ...
