"""What is known after 300 steps without and with curiosity, through the whole pipeline?

    python -m bench.survivor_curious [--worlds 20] [--steps 300]

The exploration setting is 0 or as it comes, set at the port as a person would; all else is the
same, on the embedded models. Two bodies: `mortal` is the world as it comes, where 300 steps take
several lives in a row with the playbook carried over, as a user has it; `hardy` has 10,000 points
of life and lives them in one. Known are the cells seen, of all lives together, and the kinds of
things whose nature was felt; beside it stand the deaths and the points of life lost. The intervals
(95 %) are those of a bootstrap over worlds. Exits with 1 when cells or kinds of a body are not at
least 20 % fewer without.

Whoever dies is shown fresh ground: of mortals, more deaths mean more cells.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from statistics import mean
from typing import Final, NamedTuple

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.ext.survivor.loop import LoopOptions, Survivor
from acc_ace.ext.survivor.snapshots import SettingsPort
from acc_ace.ext.survivor.survival import LoopSettings, StepRecord
from acc_ace.ext.survivor.world import World
from acc_ace.ext.survivor.world_rules import Sizes, WorldRules
from bench.survivor_curve import interval, interval_of
from bench.survivor_world import ENDLESS

WANTED, FEWER = ("cells", "kinds"), 0.2
"""What must be fewer without curiosity, and by which share."""

BODIES: Final = {"mortal": Sizes(), "hardy": Sizes(life=ENDLESS)}
ARMS: Final = {"off": LoopSettings(exploration=0.0), "on": LoopSettings()}


class Known(NamedTuple):
    """What so many steps of one world brought."""

    cells: float
    kinds: float
    deaths: float
    lost: float


async def live(seed: int, body: Sizes, arm: LoopSettings, steps: int) -> Known:
    """The first steps of a world, over as many lives as they take; the last tick may overshoot."""
    cells, kinds, made, deaths, lost = dict[int, int](), set[str](), 0, 0, 0
    options = LoopOptions(seed=seed, episodes=steps, ticks=steps)
    with tempfile.TemporaryDirectory() as folder:
        container = build_container(Settings(data_dir=Path(folder)))
        survivor = Survivor(
            container,
            options,
            port=SettingsPort(arm),
            world_of=lambda drawn: World(WorldRules.drawn(drawn), body),
        )
        async with aclosing(survivor.run()) as run:
            async for snapshot in run:
                cells[snapshot.episode] = snapshot.cells_seen
                kinds.update(filter(None, map(_felt, snapshot.steps)))
                made += sum(bool(each.done) for each in snapshot.steps)
                deaths += bool(snapshot.died_of)
                lost -= sum(min(each.life, 0) for each in snapshot.steps)
                if made >= steps:
                    break
        await container.close()
    return Known(sum(cells.values()), len(kinds), deaths, lost)


def _felt(step: StepRecord) -> str:
    """The kind of a used thing that did something."""
    kind = step.done.removeprefix("use ")
    return kind if step.done != kind and step.cause == kind else ""


def fewer(pairs: Sequence[tuple[float, float]]) -> float:
    """By which share the first ones are fewer than the second ones, of the sums."""
    return 1 - sum(off for off, _ in pairs) / sum(on for _, on in pairs)


def main() -> int:
    """Live both arms with both bodies, and print what they know."""
    parser = argparse.ArgumentParser(prog="python -m bench.survivor_curious")
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--steps", type=int, default=300)
    chosen = parser.parse_args()
    missed = list[str]()
    for name, body in BODIES.items():
        found = {
            arm: [
                asyncio.run(live(seed, body, settings, chosen.steps))
                for seed in range(chosen.worlds)
            ]
            for arm, settings in ARMS.items()
        }
        for what in Known._fields:
            off, on = ([float(getattr(known, what)) for known in found[arm]] for arm in ARMS)
            pairs = list(zip(off, on, strict=True))
            shown = f"off {_with_interval(off)}, on {_with_interval(on)}"
            if what in WANTED:
                low, high = interval_of(fewer, pairs)
                shown += f"; off is {fewer(pairs):.0%} fewer ({low:.0%} to {high:.0%})"
                missed += [f"{what} of a {name} body"] if fewer(pairs) < FEWER else []
            print(f"{name:>6} {what:>6}: {shown}", flush=True)
    print(f"MISSED: {', '.join(missed)}" if missed else "holds")
    return 1 if missed else 0


def _with_interval(values: Sequence[float]) -> str:
    low, high = interval(values)
    return f"{mean(values):.1f} ({low:.1f} to {high:.1f})"


if __name__ == "__main__":
    sys.exit(main())
