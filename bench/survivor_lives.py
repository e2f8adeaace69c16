"""A survivor's run over stores of its own, for the other benches."""

from collections.abc import AsyncGenerator

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.ext.survivor.loop import LoopOptions, Survivor
from acc_ace.ext.survivor.survival import LoopSnapshot


async def run_episodes(
    settings: Settings, options: LoopOptions
) -> AsyncGenerator[LoopSnapshot, None]:
    """`Survivor.run` in the stores of the settings, which are closed at the end."""
    container = build_container(settings)
    try:
        async for snapshot in Survivor(container, options).run():
            yield snapshot
    finally:
        await container.close()
