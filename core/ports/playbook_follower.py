"""Whoever keeps something in step with playbooks."""

from typing import Protocol

from core.ports.playbook_store import PlaybookReader
from schemas.tenancy import PlaybookScope, Tenant


class PlaybookFollower(Protocol):
    """Told of playbooks after the store has committed; it can hold up nothing and undo nothing."""

    async def opened(self, reader: PlaybookReader, scope: PlaybookScope) -> None:
        """A playbook was read; it may have changed while nobody followed. Never raises."""
        ...

    async def changed(self, reader: PlaybookReader, scope: PlaybookScope) -> None:
        """A playbook has changed. Never raises."""
        ...

    async def dropped(self, scope: PlaybookScope) -> None:
        """A branch is gone. Never raises."""
        ...

    async def erased(self, reader: PlaybookReader, tenant: Tenant) -> None:
        """A user was erased from the store. Raises StoreError when something of theirs is left."""
        ...
