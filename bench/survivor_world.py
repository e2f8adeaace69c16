"""Is the survivor's world worth learning in? Lives of newcomers, of an oracle, and of chance.

    python -m bench.survivor_world [--seeds 20] [--lives 8] [--steps 8000] [--ticks 400]

Each seed draws other natures, their drift by season, and a ground for each life. All but chance
live by the same planner, in ticks of at most six steps; like the loop's, a tick plans once more
after damage or an approach. The oracle knows the natures of each season. A newcomer knows what it
felt, and keeps it over its lives by kind and season: the best that a memory can do, with no
model and no playbook in play. `--ticks` is the most of a newcomer's life, `--steps` the most
of the oracle's.

The bounds were fixed before the world was tuned, and are printed first. Exits with 1 when a number
misses its bound. Needs the extra `survivor`.
"""

import argparse
import random
import statistics
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from acc_ace.core.schemas.base import SessionKey
from acc_ace.ext.survivor.episode import LiveEpisode
from acc_ace.ext.survivor.fear import effect_of, is_damaged
from acc_ace.ext.survivor.planner import NEAR, Belief, Stance, plan_steps
from acc_ace.ext.survivor.survival import MOST_STEPS, LoopSettings, StepRecord
from acc_ace.ext.survivor.world import World
from acc_ace.ext.survivor.world_rules import (
    ACTIONS,
    CREATURES,
    STRANGER,
    Sizes,
    WorldRules,
    apart,
    used_in,
)

FIRST, LATER, BEST, CHANCE = (60, 200), 2, 10, 1 / 3
"""Bounds: ticks of a first life; the last life, the oracle's and chance's as multiples of it."""

ENDLESS = 10_000
"""Life of a body that no danger kills while it finds out."""

Known = dict[tuple[str, int], Stance]
"""What kinds were found to be, by season."""


class Life(NamedTuple):
    """How a life went."""

    ticks: int
    steps: int


def survivor_life(
    seed: int,
    layout: int,
    sizes: Sizes,
    *,
    known: Known | None = None,
    mind: str = "",
    ticks: int = sys.maxsize,
) -> tuple[Life, str]:
    """One life by the planner, and what it leaves of fear and curiosity.

    Without `known` it is the oracle's; what is found is put into it.
    """
    rules = WorldRules.drawn(seed)
    key = SessionKey("bench", "run", str(layout))
    episode = LiveEpisode(key, World(rules, sizes), layout=layout, mind=mind)
    while not episode.is_over and episode.ticks < ticks:
        beliefs = _beliefs(rules, known, episode.outlook.season)
        episode.open_tick(beliefs, LoopSettings())
        records, plans = list[StepRecord](), 2
        steps = list(plan_steps(episode.outlook, beliefs).steps)
        while steps and len(records) < MOST_STEPS and not episode.is_over:
            reach = _in_reach(episode)
            records.append(episode.step(steps.pop(0)))
            if known is not None:
                known.update(_found(records[-1]))
            if is_damaged(records[-1]) or _in_reach(episode) > reach:
                plans -= 1
                steps = list(plan_steps(episode.outlook, beliefs).steps) if plans else []
        episode.close_tick(records)
    return Life(episode.ticks, episode.steps), episode.mind


def _beliefs(rules: WorldRules, known: Known | None, season: int) -> dict[str, Belief]:
    if known is None:
        hunters = {rules.hunter, *([STRANGER] if rules.is_foe else [])}
        creatures = {
            kind: Belief("hunter" if kind in hunters else "harmless") for kind in CREATURES
        }
        return {k: Belief(nature) for k, nature in rules.natures_in(season).items()} | creatures
    of_now = {kind: Belief(nature) for (kind, when), nature in known.items() if when == season}
    others = {kind: Belief(nature, is_of_now=False) for (kind, _), nature in known.items()}
    return others | of_now


def _found(record: StepRecord) -> Known:
    """What a step showed, by use or of what bit."""
    found: Known = {}
    if record.life < 0 and record.cause in CREATURES:
        found[record.cause, record.season] = "hunter"
    if nature := effect_of(record) if used_in(record.done) else None:
        found[used_in(record.done), record.season] = nature
    return found


def _in_reach(episode: LiveEpisode) -> int:
    return sum(apart(cell) <= NEAR for cell in episode.outlook.approaching)


def random_life(seed: int, sizes: Sizes) -> Life:
    """A life of actions drawn by chance."""
    world, draw = World(WorldRules.drawn(seed), sizes), random.Random(seed)  # noqa: S311 (no secret)
    world.reset(seed=seed)
    steps, ended = 0, False
    while not ended:
        _, _, dead, over, _ = world.step(np.int64(draw.randrange(len(ACTIONS))))
        steps, ended = steps + 1, dead or over
    return Life(-(-steps // MOST_STEPS), steps)


class Check(NamedTuple):
    """A number, its bound, and whether it holds."""

    what: str
    holds: bool


def checks(lives: dict[str, list[int]]) -> list[Check]:
    """The conditions of acceptance on the ticks lived, by who lived them."""
    middle = {name: statistics.median(ticks) for name, ticks in lives.items()}
    first, (least, most) = middle["first"], FIRST
    last, best, chance = middle["last"], middle["oracle"], middle["chance"]
    return [
        Check(f"first life: median {first:g} in {least} to {most}", least <= first <= most),
        Check(f"last life: median {last:g} >= {LATER} x {first:g}", last >= LATER * first),
        Check(f"oracle: median {best:g} >= {BEST} x {first:g}", best >= BEST * first),
        Check(f"chance: median {chance:g} <= {CHANCE:.2f} x {first:g}", chance <= CHANCE * first),
    ]


def newcomers(seed: int, lives: int, ticks: int) -> list[int]:
    """Ticks of so many lives in a row in one world, each of at most `ticks`."""
    known, mind, lived = Known(), "", list[int]()
    for number in range(1, lives + 1):
        layout = 100_003 * seed + number
        life, mind = survivor_life(seed, layout, Sizes(), known=known, mind=mind, ticks=ticks)
        lived.append(life.ticks)
    return lived


def main(arguments: Sequence[str] | None = None) -> int:
    """Live all lives and print them. 1 when a condition does not hold."""
    parser = argparse.ArgumentParser(prog="python -m bench.survivor_world")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--lives", type=int, default=8)
    parser.add_argument("--steps", type=int, default=Sizes().steps)
    parser.add_argument("--ticks", type=int, default=400)
    options = parser.parse_args(arguments)
    print(f"bounds: first {FIRST}, last >= {LATER} x, oracle >= {BEST} x, chance <= {CHANCE:.2f} x")
    sizes = Sizes(steps=options.steps)
    lives: dict[str, list[int]] = {name: [] for name in ("first", "last", "oracle", "chance")}
    for seed in range(options.seeds):
        ticks = newcomers(seed, options.lives, options.ticks)
        best, _ = survivor_life(seed, 100_003 * seed + 1, sizes)
        chance = random_life(seed, sizes)
        print(f"{seed:4} lives {ticks}, oracle {best.ticks}, chance {chance.ticks}", flush=True)
        lived = (ticks[0], ticks[-1], best.ticks, chance.ticks)
        for name, number in zip(lives, lived, strict=True):
            lives[name].append(number)
    found = checks(lives)
    print(*(f"{'holds' if check.holds else 'MISSED'}: {check.what}" for check in found), sep="\n")
    return 0 if all(check.holds for check in found) else 1


if __name__ == "__main__":
    sys.exit(main())
