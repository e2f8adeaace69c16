"""Wait for the work that stores do in the background."""

import asyncio

from core.adapters.open_stores import Stores


async def filled(stores: Stores) -> None:
    """Wait until nothing of these stores is left to be embedded."""
    fill = getattr(stores.artifacts, "fill", None)
    assert fill is not None, "this store has no vectors"
    async with asyncio.timeout(20):
        await fill()
