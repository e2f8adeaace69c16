"""How long a life is after so many lives of training, over the oracle's on the same layout.

    python -m bench.survivor_curve [--worlds 5] [--ticks 100]

Each world is lived eleven times in a row, each time on a fresh layout, through the whole pipeline
on the embedded models. Arms: nothing is kept (no logs, no playbook), the logs of a life alone, and
logs with the playbook. A life ends at `--ticks` at the latest, and the oracle's after as many steps
as the life could have made. The interval is that of a bootstrap over worlds (95 %).
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
from acc_ace.schemas.survival import MOST_STEPS
from acc_ace.survival.loop import RunOptions, run_episodes
from acc_ace.survival.world_rules import Sizes
from bench.survivor_world import MINDS, survivor_life

TRAINED: Final = (0, 1, 3, 5, 10)
_DRAWS: Final = 2_000

_Value = TypeVar("_Value")


class Arm(NamedTuple):
    """What a survivor keeps."""

    name: str
    bullets: int
    keeps_logs: bool


ARMS: Final = (Arm("nothing", 0, False), Arm("logs", 0, True), Arm("playbook", 12, True))


async def lives(seed: int, arm: Arm, ticks: int) -> list[int]:
    """Steps of eleven lives in a row in one world."""
    options = RunOptions(
        seed=seed, episodes=TRAINED[-1] + 1, ticks=ticks, keeps_logs=arm.keeps_logs
    )
    steps: dict[int, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), playbook_context_limit=arm.bullets)
        async for snapshot in run_episodes(settings, options):
            steps[snapshot.episode] = snapshot.step
    return [steps[episode] for episode in sorted(steps)]


def oracle(seed: int, episode: int, steps: int) -> int:
    """Steps that the oracle lives on the layout of an episode."""
    mind = next(mind for mind in MINDS.values() if mind.is_oracle and mind.every == 1)
    return survivor_life(seed, Sizes(steps=steps), mind, layout=100_003 * seed + episode).steps


def interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % of the mean of values, one of each world, in a bootstrap over worlds."""
    return interval_of(mean, values)


def interval_of(
    of: Callable[[Sequence[_Value]], float], values: Sequence[_Value]
) -> tuple[float, float]:
    """The same for another measure than the mean."""
    chance = random.Random(0)  # noqa: S311 - a sample, no secret
    found = sorted(of(chance.choices(values, k=len(values))) for _ in range(_DRAWS))
    return found[int(0.025 * _DRAWS)], found[int(0.975 * _DRAWS)]


def main() -> None:
    """Print the curve of each arm."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--worlds", type=int, default=5)
    parser.add_argument("--ticks", type=int, default=100)
    options = parser.parse_args()
    best = {
        (seed, after): oracle(seed, after + 1, options.ticks * MOST_STEPS)
        for seed in range(options.worlds)
        for after in TRAINED
    }
    print("lives of training:", *TRAINED)
    for arm in ARMS:
        found = [asyncio.run(lives(seed, arm, options.ticks)) for seed in range(options.worlds)]
        shown = []
        for after in TRAINED:
            shares = [steps[after] / best[seed, after] for seed, steps in enumerate(found)]
            low, high = interval(shares)
            shown.append(f"{mean(shares):.2f} ({low:.2f} to {high:.2f})")
        print(f"{arm.name:>9}:", "; ".join(shown), flush=True)


if __name__ == "__main__":
    main()
