"""Texts of sessions that can be forgotten at any time."""

from typing import Protocol

from schemas.tenancy import SessionKey, Tenant


class TextCache(Protocol):
    """A cache, never the truth: whoever reads it must check what it says.

    `get`, `put` and `drop` never raise; `erase` and `count` raise StoreError when the cache is
    away, because it could still hold words of the user then.
    """

    async def get(self, kind: str, key: SessionKey) -> str | None:
        """What is kept, or None. It may be stale, or anything at all."""
        ...

    async def put(self, kind: str, key: SessionKey, text: str) -> None:
        """Keep a text for a while."""
        ...

    async def drop(self, kind: str, key: SessionKey) -> None:
        """Forget a text."""
        ...

    async def erase(self, tenant: Tenant) -> int:
        """Forget everything of a user; how many entries."""
        ...

    async def count(self, tenant: Tenant) -> int:
        """Entries of a user."""
        ...
