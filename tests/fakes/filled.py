"""Wait for the work that stores do in the background."""

import asyncio
from typing import Protocol

from acc_ace.memory.artifact_store import ArtifactStore


class HasArtifacts(Protocol):
    """Stores, or a container of them."""

    @property
    def artifacts(self) -> ArtifactStore: ...


async def filled(stores: HasArtifacts) -> None:
    """Wait until nothing of these stores is left to be embedded."""
    fill = getattr(stores.artifacts, "fill", None)
    assert fill is not None, "this store has no vectors"
    async with asyncio.timeout(20):
        await fill()
