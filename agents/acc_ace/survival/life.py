"""Live one life: sense, decide about what is new, step, and let each new touch teach.

Stances become steps: go for what the body needs most, around what is to be avoided.
"""

import random
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from acc_ace.errors import InputError
from acc_ace.schemas.playbook import Playbook
from acc_ace.survival.appraisal import Appraisal, Appraiser
from acc_ace.survival.senses import Moment, Stance, hindsight, sensed
from acc_ace.survival.world import ACTIONS, MOVES, Cell, Touch, World

WORTH_GOING = 0.3
"""A body that lacks less than this of everything looks around instead."""

CURIOSITY = 0.4
"""What an untried thing is worth to a body that lacks nothing."""

STEP_COST = 0.02
_TURN = 0.1
"""Chance of a turn in each step of looking around."""


class Legs:
    """Chooses the step of each tick; `seed` decides the turns while looking around."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 (a walk, no secret)
        self._heading = "north"

    def step(self, moment: Moment, stances: Mapping[str, Stance]) -> str:
        """One of ACTIONS. A kind without a stance is neither touched nor sought."""
        paths = _paths(moment)
        wanted = [
            (_worth(stances.get(kind), moment) - STEP_COST * len(paths[cell]), cell)
            for cell, kind in moment.things.items()
            if cell in paths
        ]
        best, cell = max(wanted, default=(0.0, (0, 0)))
        return paths[cell][0] if best >= WORTH_GOING else self._look_around(moment)

    def _look_around(self, moment: Moment) -> str:
        free = [
            name
            for name, cell in MOVES.items()
            if name != "wait" and cell not in moment.walls and cell not in moment.things
        ]
        if not free:
            return "wait"
        if self._heading not in free or self._random.random() < _TURN:
            self._heading = self._random.choice(free)
        return self._heading


def _worth(stance: Stance | None, moment: Moment) -> float:
    """What touching a thing is worth now, 0 to 1."""
    size = moment.sizes
    lack = {
        Stance.EAT: 1 - moment.energy / size.energy,
        Stance.DRINK: 1 - moment.water / size.water,
        Stance.HEAL: 1 - moment.health / size.health,
    }
    if stance is Stance.TRY:
        # The emptier the body, the more a gamble is worth; the weaker, the less.
        hunger = max(lack[Stance.EAT], lack[Stance.DRINK])
        return max(CURIOSITY * (1 - lack[Stance.HEAL]), hunger**2)
    return lack.get(stance, 0.0) if stance else 0.0


def _paths(moment: Moment) -> dict[Cell, tuple[str, ...]]:
    """The shortest way to each cell in sight that steps on no other thing."""
    sight = moment.sizes.sight
    found: dict[Cell, tuple[str, ...]] = {(0, 0): ()}
    queue: deque[Cell] = deque([(0, 0)])
    while queue:
        at = queue.popleft()
        if at in moment.things:
            continue
        for name, (down, right) in MOVES.items():
            cell = (at[0] + down, at[1] + right)
            if cell in found or cell in moment.walls or max(map(abs, cell)) > sight:
                continue
            found[cell] = (*found[at], name)
            queue.append(cell)
    return found


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
