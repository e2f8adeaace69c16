"""Is the survivor's world worth learning in? Lives of an oracle, of chance, and of know-nothings.

    python -m bench.survivor_world [--seeds 20] [--steps 4000]

Each seed draws other natures and another ground. All but chance live by the same planner: the
oracle believes all natures from the start, the know-nothings what they feel within the one life.
`every 6` is the oracle that plans again only after six steps or with a creature within three.
Exits with 1 when a number misses its bound. Needs the extra `survivor`.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from acc_ace.ext.survivor.exploration import ExplorationMap, Outlook, outlook
from acc_ace.ext.survivor.planner import NEAR, Belief, plan_steps
from acc_ace.ext.survivor.world import Touch, World
from acc_ace.ext.survivor.world_rules import (
    ACTIONS,
    CREATURES,
    Nature,
    Sizes,
    WorldRules,
    action_of,
    apart,
)

OPEN_LOOP = 6
CURIOUS_STEPS = 300
ENDLESS = 10_000
"""Life of a body that no danger kills while it finds out."""


class Mind(NamedTuple):
    """How a life is lived by the planner."""

    is_oracle: bool = False
    boldness: float = 0.5
    exploration: float = 0.5
    every: int = 1


ORACLE = Mind(is_oracle=True)
MINDS = {
    "oracle": ORACLE,
    "every 6": ORACLE._replace(every=OPEN_LOOP),
    "bold": Mind(),
    "cautious": Mind(boldness=0.0, exploration=0.0),
}


class Life(NamedTuple):
    """How a life went: its steps, cells seen, kinds of which the nature was felt."""

    steps: int
    cells: int = 0
    kinds: int = 0


def survivor_life(seed: int, sizes: Sizes, mind: Mind, *, layout: int | None = None) -> Life:
    """One life by the planner, in the world of a seed, on the layout of that seed or another."""
    rules = WorldRules.drawn(seed)
    world, ground = World(rules, sizes), ExplorationMap(sizes)
    beliefs = known(rules) if mind.is_oracle else {}
    steps, plan, felt = 0, list[str](), set[str]()
    observation, _ = world.reset(seed=seed if layout is None else layout)
    dead = over = False
    while not (dead or over):
        ground.observe(observation)
        seen = outlook(observation, ground, exploration=mind.exploration)
        if not plan or mind.every == 1 or _is_near(seen):
            plan = list(plan_steps(seen, beliefs, most=mind.every, boldness=mind.boldness).steps)
        observation, _, dead, over, info = world.step(action_of(plan.pop(0)))
        steps += 1
        for about, belief in lessons(info["touch"], [hit.kind for hit in info["hits"]]).items():
            beliefs[about] = belief
            felt.add(about)
    return Life(steps, ground.cells_seen, len(felt.difference(CREATURES)))


def known(rules: WorldRules) -> dict[str, Belief]:
    """All natures of a world."""
    creatures = {
        kind: Belief("hunter" if kind == rules.hunter else "harmless") for kind in CREATURES
    }
    return {kind: Belief(nature) for kind, nature in rules.natures.items()} | creatures


def lessons(touch: Touch | None, hits: Sequence[str]) -> dict[str, Belief]:
    """What a step taught: the nature that was felt, and the creatures that hunt."""
    taught = {by: Belief("hunter") for by in hits if by in CREATURES}
    if touch is None:
        return taught
    signs = (
        (touch.life < 0, Nature.DANGER),
        (touch.food > 0, Nature.FOOD),
        (touch.water > 0, Nature.WATER),
        (touch.life > 0, Nature.REMEDY),
    )
    nature = next((nature for is_felt, nature in signs if is_felt), None)
    return taught | ({touch.kind: Belief(nature)} if nature else {})


def _is_near(seen: Outlook) -> bool:
    return any(apart(cell) <= NEAR for cell in seen.creatures)


def random_life(seed: int, sizes: Sizes) -> Life:
    """A life of actions drawn by chance."""
    world, draw = World(WorldRules.drawn(seed), sizes), random.Random(seed)  # noqa: S311 (no secret)
    world.reset(seed=seed)
    steps, ended = 0, False
    while not ended:
        _, _, dead, over, _ = world.step(np.int64(draw.randrange(len(ACTIONS))))
        steps, ended = steps + 1, dead or over
    return Life(steps)


class Check(NamedTuple):
    """A number, its bound, and whether it holds."""

    what: str
    holds: bool


def checks(lives: dict[str, list[int]]) -> list[Check]:
    """The conditions of acceptance on the steps lived, by who lived them."""
    middle = {name: statistics.median(steps) for name, steps in lives.items()}
    ignorant = max(middle["bold"], middle["cautious"])
    return [
        Check(f"oracle: median {middle['oracle']:g} >= 2,000", middle["oracle"] >= 2_000),
        Check(f"random: median {middle['random']:g} <= 60", middle["random"] <= 60),
        Check(f"know-nothing: median {ignorant:g} >= random", ignorant >= middle["random"]),
        Check(
            f"know-nothing: median {ignorant:g} <= a quarter of the oracle",
            ignorant <= middle["oracle"] / 4,
        ),
        Check(
            f"every 6 steps: median {middle['every 6']:g} >= 80 % of the oracle",
            middle["every 6"] >= 0.8 * middle["oracle"],
        ),
    ]


def curiosity(seeds: Sequence[int]) -> tuple[list[str], list[Check]]:
    """Ground and kinds known after 300 steps, without and with curiosity, and what it costs."""
    body = Sizes(life=ENDLESS, steps=CURIOUS_STEPS)
    lines, mean = [], {}
    for level in (0.0, 0.5):
        mind = Mind(exploration=level)
        found = [survivor_life(seed, body, mind) for seed in seeds]
        steps = [survivor_life(seed, Sizes(), mind).steps for seed in seeds]
        mean[level] = [statistics.mean(each) for each in zip(*found, strict=True)]
        lines.append(
            f"exploration {level:g}: {mean[level][1]:.1f} cells, {mean[level][2]:.2f} kinds, "
            f"a mortal one lives a median of {statistics.median(steps):g} steps"
        )
    return lines, [
        Check(f"{what} without curiosity: {1 - without / full:.0%} fewer", without <= 0.8 * full)
        for what, without, full in zip(("", "cells", "kinds"), mean[0.0], mean[0.5], strict=True)
        if what
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Live all lives and print them. 1 when a condition does not hold."""
    options = _options(arguments)
    sizes, seeds = Sizes(steps=options.steps), range(options.seeds)
    living: dict[str, Callable[[int], Life]] = {
        name: partial(survivor_life, sizes=sizes, mind=mind) for name, mind in MINDS.items()
    }
    living["random"] = partial(random_life, sizes=sizes)
    print("seed" + "".join(f"{name:>10}" for name in living))
    lives: dict[str, list[int]] = {name: [] for name in living}
    started = time.process_time()
    for seed in seeds:
        for name, live in living.items():
            lives[name].append(live(seed).steps)
        print(f"{seed:4}" + "".join(f"{steps[-1]:10}" for steps in lives.values()), flush=True)
    for label, of in (("med", statistics.median), ("min", min), ("mean", statistics.mean)):
        print(f"{label:4}" + "".join(f"{float(of(steps)):10.0f}" for steps in lives.values()))
    seconds = time.process_time() - started
    print(f"{sum(map(sum, lives.values())) / seconds:.0f} steps a CPU second")
    lines, more = curiosity(seeds)
    print(*lines, sep="\n")
    found = checks(lives) + more
    print(*(f"{'holds' if check.holds else 'MISSED'}: {check.what}" for check in found), sep="\n")
    return 0 if all(check.holds for check in found) else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.survivor_world")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--steps", type=int, default=4_000, help="steps that a life has at most")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
