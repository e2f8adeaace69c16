"""Observer of playbook commits."""

from typing import Protocol

from acc_ace.playbook.playbook_store import PlaybookReader
from acc_ace.schemas.base import PlaybookScope, Tenant


class PlaybookFollower(Protocol):
    """Notified after the store has committed; it cannot block or undo a commit."""

    async def opened(self, reader: PlaybookReader, scope: PlaybookScope) -> None:
        """A playbook was read; it may have changed unobserved. Never raises."""
        ...

    async def changed(self, reader: PlaybookReader, scope: PlaybookScope) -> None:
        """A playbook has changed. Never raises."""
        ...

    async def dropped(self, scope: PlaybookScope) -> None:
        """A branch was deleted. Never raises."""
        ...

    async def erased(self, reader: PlaybookReader, tenant: Tenant) -> None:
        """A user was erased. Raises StoreError if some of their data is left."""
        ...
