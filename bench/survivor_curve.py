"""How long a life is after so many lives of training, over the oracle's on the same layout.

    python -m bench.survivor_curve [--worlds 5] [--first 0] [--steps 4000] [--training 100]

Each world is lived eleven times in a row, each time on a fresh layout, through the whole pipeline
on the embedded models. Arms: nothing is kept (no logs, no playbook), the logs of a life alone, and
logs with the playbook. A life that is measured, and the oracle's, ends after `--steps` steps at the
latest; one between two measures after `--training` ticks. Ratios are of one layout each, and of
the sums over layouts, as one on which the oracle dies early weighs much in the mean of the first.
Intervals are those of a bootstrap over worlds (95 %).
"""

import argparse
import asyncio
import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Final, NamedTuple, TypeVar

from acc_ace.config import Settings
from acc_ace.ext.survivor.loop import LoopOptions
from acc_ace.ext.survivor.world_rules import Sizes
from bench.survivor_lives import run_episodes
from bench.survivor_world import survivor_life

TRAINED: Final = (0, 1, 3, 5, 10)
_DRAWS: Final = 2_000

T = TypeVar("T")


class Arm(NamedTuple):
    """What a survivor keeps."""

    name: str
    bullets: int
    keeps_logs: bool


ARMS: Final = (Arm("nothing", 0, False), Arm("logs", 0, True), Arm("playbook", 12, True))


async def lives(seed: int, arm: Arm, steps: int, training: int) -> list[int]:
    """Steps of eleven lives in a row in one world."""
    lived = [0] * (TRAINED[-1] + 1)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), playbook_context_limit=arm.bullets)
        for after in range(len(lived)):
            # Each tick makes a step at least, and at most MOST_STEPS.
            ticks = steps if after in TRAINED else training
            options = LoopOptions(seed=seed, ticks=ticks, keeps_logs=arm.keeps_logs)
            async for snapshot in run_episodes(settings, options):
                lived[after] = snapshot.step
                if snapshot.step >= steps:
                    break
    return lived


def oracle(seed: int, episode: int, steps: int) -> int:
    """Steps that the oracle lives on the layout of an episode."""
    life, _ = survivor_life(seed, 100_003 * seed + episode, Sizes(steps=steps))
    return life.steps


def interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % of the mean of values, one of each world, in a bootstrap over worlds."""
    return interval_of(mean, values)


def interval_of(of: Callable[[Sequence[T]], float], values: Sequence[T]) -> tuple[float, float]:
    """The same for another measure than the mean."""
    chance = random.Random(0)  # noqa: S311 - a sample, no secret
    drawn = sorted(of(chance.choices(values, k=len(values))) for _ in range(_DRAWS))
    return drawn[int(0.025 * _DRAWS)], drawn[int(0.975 * _DRAWS)]


def mean_of_ratios(worlds: Sequence[tuple[int, int]]) -> float:
    """Of steps lived and the oracle's."""
    return mean(lived / best for lived, best in worlds)


def ratio_of_sums(worlds: Sequence[tuple[int, int]]) -> float:
    """Of steps lived and the oracle's."""
    return sum(lived for lived, _ in worlds) / sum(best for _, best in worlds)


def main() -> None:
    """Print the curve of each arm."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--worlds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--steps", type=int, default=4_000)
    parser.add_argument("--training", type=int, default=100)
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.worlds)
    best = {
        (seed, after): oracle(seed, after + 1, options.steps) for seed in seeds for after in TRAINED
    }
    print("lives of training:", *TRAINED)
    for arm in ARMS:
        found = {
            seed: asyncio.run(lives(seed, arm, options.steps, options.training)) for seed in seeds
        }
        for after in TRAINED:
            pairs = [(steps[after], best[seed, after]) for seed, steps in found.items()]
            shown = []
            for of in (mean_of_ratios, ratio_of_sums):
                low, high = interval_of(of, pairs)
                shown.append(f"{of(pairs):.2f} ({low:.2f} to {high:.2f})")
            print(
                f"{arm.name:>9} {after:>2}: {'; '.join(shown)}; steps of oracle's",
                pairs,
                flush=True,
            )


if __name__ == "__main__":
    main()
