"""Calls of tools that act, written down before they are made."""

from collections.abc import Collection, Sequence
from typing import Protocol

from acc_ace.schemas.tenancy import SessionKey
from acc_ace.schemas.tool_start import ToolStart
from acc_ace.unit_of_work import Write


class ToolStarts(Protocol):
    """Keeps what turns have begun and not yet committed. Raises StoreError."""

    async def start(self, key: SessionKey, start: ToolStart) -> None:
        """Note a call, durably; the same call id again replaces it."""
        ...

    async def unsettled(self, key: SessionKey) -> Sequence[ToolStart]:
        """The calls of the session that no commit has settled, in the order of their start."""
        ...

    def settle_write(self, key: SessionKey, call_ids: Collection[str]) -> Write:
        """Forget calls whose outcome is part of the same unit of work."""
        ...

    async def erase(self, key: SessionKey) -> int:
        """Forget all calls of a session; how many."""
        ...
