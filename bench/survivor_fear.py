"""Does fear come before harm, and tell the steps that lead to damage from those that do not?

    python -m bench.survivor_fear [--worlds 10] [--lives 6]

A fixed mediocre policy lives: it knows what feeds and nothing else, steps at random a quarter of
the time, and never evades, so that avoidance does not hide what fear foresees. Printed are

- the area under the ROC curve of fear against damage by a thing, a creature or the ground within
  three steps, over all worlds: `held out`: fear learned from the lives of the training layouts and
  is frozen on other layouts of the same world; `from nothing`: fear begins anew in each held-out
  life and learns as it is lived;
- of lives 4 to 8 in a row, with fear carried over: the share of harms that were foreseen, and false
  alarms. A harm is foreseen when fear was at its threshold in one of the ten steps before it; an
  alarm is a row of steps at the threshold, a false one if no harm follows within ten.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from acc_ace.ext.survivor.exploration import ExplorationMap, Outlook, outlook
from acc_ace.ext.survivor.fear import WINDOW, Fear, is_damaged
from acc_ace.ext.survivor.planner import Belief, Beliefs, plan_steps
from acc_ace.ext.survivor.survival import LoopSettings, StepRecord
from acc_ace.ext.survivor.world import World
from acc_ace.ext.survivor.world_rules import ACTIONS, CREATURES, Nature, WorldRules, action_of

FOOD, WATER = Nature.FOOD, Nature.WATER
TRAINING, HELD_OUT = 100, 900
"""Layout seeds begin here; the rules of world n are drawn by n."""

CARELESS = 0.25
"""How often the policy steps at random."""

MOST_STEPS = 300
"""As many as fifty ticks."""

LATE, THRESHOLD, BEFORE = range(4, 9), LoopSettings().danger_threshold, 10
"""Lives that foresight is measured in; fear's threshold; steps before a harm."""


class Moment(NamedTuple):
    """A moment of a life and the step that was made."""

    outlook: Outlook
    record: StepRecord


def mediocre(seen: Outlook, beliefs: Beliefs, choice: random.Random) -> str:
    """Plan with what feeds as all that is known, heed no creature, and step at random at times."""
    if choice.random() >= CARELESS:
        return plan_steps(seen, beliefs, most=1).steps[0]
    action = choice.choice(ACTIONS)
    here = seen.things.get((0, 0))
    if action == "use":
        return f"use {here}" if here else "wait"
    return action if action == "wait" else f"move {action}"


def life(world: World, seed: int) -> Iterator[Moment]:
    """Live by the mediocre policy until the end, or for MOST_STEPS."""
    choice = random.Random(seed)  # noqa: S311 (a policy, no secret)
    natures = world.rules.natures.items()
    beliefs = {kind: Belief(nature) for kind, nature in natures if nature in (FOOD, WATER)}
    beliefs.update(dict.fromkeys(CREATURES, Belief("harmless")))
    ground = ExplorationMap(world.sizes)
    observation, _ = world.reset(seed=seed)
    for _ in range(MOST_STEPS):
        ground.observe(observation)
        before = outlook(observation, ground)
        step = mediocre(before, beliefs, choice)
        observation, _, dead, over, info = world.step(action_of(step))
        touch, hits = info["touch"], info["hits"]
        hurt = [hit.kind for hit in hits] or ([touch.kind] if touch and any(touch[1:]) else [""])
        if any(hit.life < 0 for hit in (*hits, *([touch] if touch else []))):
            ground.hurt.add(ground.place)
        life_now, food, water = (int(points) for points in observation["body"])
        yield Moment(
            before,
            StepRecord(
                wanted=step,
                done=step,
                status="done",
                life=life_now - before.body.life,
                food=food - before.body.food,
                water=water - before.body.water,
                cause=hurt[0],
                season=before.season,
            ),
        )
        if dead or over:
            return


def auc(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """Area under the ROC curve: P(a harmed window has the higher score), ties by half."""
    values, harmed = np.array(scores), np.array(labels)
    bad, good = values[harmed], np.sort(values[~harmed])
    below = np.searchsorted(good, bad, "left") + np.searchsorted(good, bad, "right")
    return float(below.mean() / 2 / len(good))


class Sample(NamedTuple):
    """Estimates and what came of them, of complete windows."""

    scores: list[float]
    harmed: list[bool]


def judged(fear: Fear, moments: Sequence[Moment], *, learns: bool) -> Sample:
    """Fear at each moment of a life, and whether damage followed within WINDOW steps."""
    scores = []
    for seen, record in moments:
        scores.append(fear.estimate(seen, record.done))
        if learns:
            fear.observe(seen, record)
            fear.experience.observe(seen, record, 0)
    hurt = [is_damaged(record) for _, record in moments]
    whole = [at for at in range(len(hurt)) if at + WINDOW <= len(hurt) or any(hurt[at:])]
    return Sample([scores[at] for at in whole], [any(hurt[at : at + WINDOW]) for at in whole])


class Warned(NamedTuple):
    """Harms, those that were foreseen, false alarms, and steps."""

    harms: int
    foreseen: int
    false_alarms: int
    steps: int


def warned(scores: Sequence[float], hurt: Sequence[bool]) -> Warned:
    """How fear before each step of a life foresaw whether it hurt."""
    is_alarmed = [score >= THRESHOLD for score in scores]
    harms = [at for at, is_hurt in enumerate(hurt) if is_hurt]
    foreseen = sum(any(is_alarmed[max(at + 1 - BEFORE, 0) : at + 1]) for at in harms)
    at, false = 0, 0
    for is_alarm, row in groupby(is_alarmed):
        end = at + len(list(row))
        false += is_alarm and not any(hurt[at : end + BEFORE])
        at = end
    return Warned(len(harms), foreseen, false, len(scores))


def foresight(worlds: int) -> str:
    """Of lives 4 to 8 of each world: harms foreseen, and false alarms in 100 ticks of six steps."""
    lives = list[Warned]()
    for number in range(worlds):
        world, fear = World(WorldRules.drawn(number)), Fear()
        for seed in range(1, LATE[-1] + 1):
            moments = list(life(world, seed))
            scores = list[float]()
            for seen, record in moments:
                scores.append(fear.estimate(seen, record.done))
                fear.observe(seen, record)
                fear.experience.observe(seen, record, 0)
            if seed in LATE:
                lives.append(warned(scores, [is_damaged(record) for _, record in moments]))
    harms, foreseen, false, steps = (sum(each) for each in zip(*lives, strict=True))
    return (
        f"lives {LATE[0]} to {LATE[-1]}: {foreseen} of {harms} harms foreseen "
        f"({foreseen / harms:.0%}), {false / steps * 600:.1f} false alarms in 100 ticks"
    )


def measure(worlds: int, lives: int, training: int = TRAINING, held_out: int = HELD_OUT) -> str:
    """Both areas as text, with the counts behind them."""
    trained, anew = Sample([], []), Sample([], [])
    for number in range(worlds):
        world, fear = World(WorldRules.drawn(number)), Fear()
        for seed in range(training, training + lives):
            judged(fear, list(life(world, seed)), learns=True)
        for seed in range(held_out, held_out + lives):
            moments = list(life(world, seed))
            for sample, of in (
                (trained, judged(fear, moments, learns=False)),
                (anew, judged(Fear(), moments, learns=True)),
            ):
                sample.scores.extend(of.scores)
                sample.harmed.extend(of.harmed)
    return (
        f"{worlds} worlds, {lives} + {lives} lives each; {len(trained.harmed)} held-out windows, "
        f"{np.mean(trained.harmed):.1%} harmed\n"
        f"AUC held out      {auc(*trained):.3f}\n"
        f"AUC from nothing  {auc(*anew):.3f}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the areas."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=10)
    parser.add_argument("--lives", type=int, default=6)
    options = parser.parse_args(arguments)
    print(measure(options.worlds, options.lives))
    print(foresight(options.worlds))


if __name__ == "__main__":
    main()
