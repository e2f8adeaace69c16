"""Turn stances into steps: go for what the body needs most, around what is to be avoided."""

import random
from collections import deque
from collections.abc import Mapping

from acc_ace.survival.senses import Moment, Stance
from acc_ace.survival.world import MOVES, Cell

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
