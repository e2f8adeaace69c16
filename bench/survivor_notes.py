"""What does the note of the last life change? Second lives from the same state, by its end.

    python -m bench.survivor_notes [--seeds 12] [--ticks 40]

In each world a life begins with the same ground, an empty playbook and no learning, and with the
note of a first one that ended in one of ENDS. Printed are medians over the worlds: steps lived,
the step of the first use of anything, that of the first plan to try something for water or food,
and the lowest danger threshold. A life without any counts as its steps.
"""

import argparse
import asyncio
from collections.abc import Sequence
from statistics import median
from typing import Final, NamedTuple

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.ext.survivor.loop import LoopOptions, Survivor
from acc_ace.ext.survivor.memory_manager import meta_note

ENDS: Final = (
    "lived to the end",
    "died of thirst",
    "died of hunger",
    "died of cone",
    "died of wolf",
)


class Life(NamedTuple):
    """A second life."""

    steps: int
    first_use: int
    first_trial: int
    threshold: float


async def life(seed: int, end: str, ticks: int) -> Life:
    """The life after a first one that ended in this way."""
    container = build_container(Settings(store="memory", learning="off"))
    options = LoopOptions(seed=seed, ticks=ticks)
    text = f"{end} after 40 steps; danger threshold 0.60 to 0.60"
    note = meta_note(options.key(1), 1, text, container.clock.now())
    await container.artifacts.add([note])
    lived = [snapshot async for snapshot in Survivor(container, options).run()]
    await container.close()
    steps = [step.done for snapshot in lived for step in snapshot.steps if step.done]
    uses = [at for at, step in enumerate(steps, 1) if step.startswith("use")]
    trials = [each.step for each in lived if each.plan.objective.startswith("try ")]
    return Life(
        len(steps),
        next(iter(uses), len(steps)),
        next(iter(trials), len(steps)),
        min(each.threshold for each in lived),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Print the medians of each end."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--ticks", type=int, default=40)
    given = parser.parse_args(argv)
    for end in ENDS:
        lives = [asyncio.run(life(seed, end, given.ticks)) for seed in range(given.seeds)]
        steps, use, trial, threshold = map(median, zip(*lives, strict=True))
        print(
            f"{end:17} steps {steps:5.1f}, first use {use:4.1f}, first trial {trial:4.1f}, "
            f"lowest threshold {threshold:.2f}"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
