"""Lives with experiments between them: the survivor's loop, and the sandbox after each life."""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, closing

from acc_ace.bootstrap import build_container
from acc_ace.config import load_settings
from acc_ace.ext.sandbox.box import Box
from acc_ace.ext.sandbox.experiments import Experimenter
from acc_ace.ext.sandbox.playground import Playground
from acc_ace.ext.survivor.cli.survive import with_model
from acc_ace.ext.survivor.core_thinker import thinker_settings
from acc_ace.ext.survivor.loop import LoopOptions, Survivor
from acc_ace.ext.survivor.recent_ticks import runs_folder
from acc_ace.ext.survivor.snapshots import SnapshotWriter, read_snapshots


async def live(
    options: LoopOptions, episodes: int, model: str | None, say: Callable[[str], object]
) -> None:
    """Live episodes of one life each, with experiments between; `survive` saves there as well.

    Raises ConfigError where the sandbox is off, before the first tick; then what ends a run.
    """
    async with _experimenter(model) as experimenter:
        path = runs_folder(experimenter.container.settings.data_dir) / f"{options.run}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(SnapshotWriter(path)) as writer:
            survivor = Survivor(experimenter.container, options, listeners=[writer.write])
            for _ in range(episodes):
                async with aclosing(survivor.run()) as ticks:
                    life = [tick async for tick in ticks]
                last = life[-1]
                say(f"life {last.episode}: {last.tick} ticks, {last.died_of or 'its bound'}")
                texts = await experimenter.after(options.key(last.episode), life)
                say("\n".join(f"  {name}: {text.strip()}" for name, text in texts.items()))


async def run(name: str, options: LoopOptions) -> str:
    """Review a script and run it on the newest life of a saved run; returns what came of it.

    Raises ConfigError where the sandbox is off, NotFoundError, StoreError.
    """
    async with _experimenter(None) as experimenter:
        path = runs_folder(experimenter.container.settings.data_dir) / f"{options.run}.jsonl"
        saved = [*read_snapshots(path, lambda _: None)]
        life = [tick for tick in saved if tick.episode == saved[-1].episode]
        key = options.key(life[-1].episode if life else 0)
        return await experimenter.run(key, name, life)


@asynccontextmanager
async def _experimenter(model: str | None) -> AsyncIterator[Experimenter]:
    """One over the stores of the settings, once the sandbox has been tried out."""
    settings = thinker_settings(with_model(load_settings(), model))
    box = Box(settings.playground)
    await box.require()
    container = build_container(settings)
    try:
        yield Experimenter(container, Playground(settings.data_dir), box)
    finally:
        await container.close()
