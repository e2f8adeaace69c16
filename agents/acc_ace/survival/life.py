"""Live one life: sense, decide about what is new, step, and let each new touch teach."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import numpy as np

from acc_ace.errors import InputError
from acc_ace.schemas.playbook import Playbook
from acc_ace.survival.appraisal import Appraisal, Appraiser
from acc_ace.survival.movement import Legs
from acc_ace.survival.senses import Stance, hindsight, sensed
from acc_ace.survival.world import ACTIONS, Touch, World


@dataclass(frozen=True)
class Life:
    """How a life went."""

    ticks: int
    reward: float
    died: bool
    harms: int
    calls: int


Teach = Callable[[Appraisal, Touch, float], Awaitable[None]]
"""Learns from what was decided, what was felt, and the reward of that tick."""

Recollect = Callable[[], Awaitable[Playbook]]
"""The playbook as it is now."""


@dataclass
class _Mind:
    """What is known in this life: what was decided, and what the body has felt itself."""

    decided: dict[str, Appraisal] = field(default_factory=dict)
    felt: dict[str, Stance] = field(default_factory=dict)

    @property
    def stances(self) -> dict[str, Stance]:
        return {kind: item.stance for kind, item in self.decided.items()} | self.felt


async def live(
    world: World,
    seed: int,
    appraiser: Appraiser,
    recollect: Recollect,
    teach: Teach | None = None,
) -> Life:
    """One life from `seed` to its end.

    A kind is decided about when it is first seen; what the body felt once it remembers for this
    life, with or without a playbook. So there is one question a kind, and one lesson.
    Raises InputError for a negative seed, and what `appraiser` and `teach` raise.
    """
    if seed < 0:
        raise InputError(f"the seed of a world is 0 or more, not {seed}")
    observation, _ = world.reset(seed=seed)
    legs, mind = Legs(seed), _Mind()
    ticks, total, harms, calls = 0, 0.0, 0, 0
    died = over = False
    while not (died or over):
        moment = sensed(observation, world.sizes)
        for kind in moment.kinds:
            if kind not in mind.decided:
                appraisal = await appraiser.appraise(kind, moment, await recollect())
                mind.decided[kind] = appraisal
                calls += appraisal.calls
        action = ACTIONS.index(legs.step(moment, mind.stances))
        observation, reward, died, over, info = world.step(np.int64(action))
        ticks, total = ticks + 1, total + reward
        touch: Touch | None = info["touch"]
        if touch is None:
            continue
        harms += touch.health < 0
        right = hindsight(touch)
        if right is not None and touch.kind not in mind.felt:
            mind.felt[touch.kind] = right
            if teach is not None:
                await teach(mind.decided[touch.kind], touch, reward)
    return Life(ticks, total, died, harms, calls)
