"""A gridworld where one lives as long as health lasts (gymnasium.Env).

Each tick costs a point of energy and one of water; without either, a point of health. Stepping
onto a thing uses it up: its nature acts, and another one of its kind appears elsewhere. The same
rules, seed and actions always give the same life.
"""

from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces

from acc_ace.errors import InputError
from acc_ace.survival.world_rules import KINDS, Nature, Rules, Sizes

MOVES = {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1), "wait": (0, 0)}
"""The actions, in the order of their numbers, as steps of row and column."""

ACTIONS = tuple(MOVES)
EMPTY, WALL, FIRST_KIND = 0, 1, 2
"""Codes of cells in a view; kind number n has the code FIRST_KIND + n."""

LIVED, POINT = 0.1, 0.25
"""Reward of a tick, and of each point that a thing gives or takes."""

Cell = tuple[int, int]
Observation = dict[str, Any]
"""Arrays of int64 by name; gymnasium types the values of its Dict space as spaces."""


class Touch(NamedTuple):
    """What a thing did to the body, in points after the bounds of the body."""

    kind: str
    health: int = 0
    energy: int = 0
    water: int = 0


class World(gymnasium.Env[Observation, np.int64]):
    """One body among things. Observed are `body`: health, energy and water, `place`: row and
    column, and `view`: codes of the cells around, the body's own in the middle.

    `info["touch"]` holds the Touch of the last step, or None.
    """

    def __init__(self, rules: Rules, sizes: Sizes | None = None) -> None:
        self.rules, self.sizes = rules, sizes or Sizes()
        size = self.sizes
        window = 2 * size.sight + 1
        self._most = np.array([size.health, size.energy, size.water], dtype=np.int64)
        self.action_space = spaces.Discrete(len(ACTIONS))
        self.observation_space = spaces.Dict(
            {
                "body": spaces.Box(np.zeros(3, dtype=np.int64), self._most, dtype=np.int64),
                "place": spaces.Box(0, size.side - 1, (2,), dtype=np.int64),
                "view": spaces.Box(
                    EMPTY, FIRST_KIND + len(KINDS) - 1, (window, window), dtype=np.int64
                ),
            }
        )
        self._body = self._most.copy()
        self._at: Cell = (0, 0)
        self._things: dict[Cell, str] = {}
        self._tick = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Lay out a world; the same seed gives the same one. `options` are not used."""
        super().reset(seed=seed, options=options)
        middle = self.sizes.side // 2
        self._body, self._at, self._tick = self._most.copy(), (middle, middle), 0
        self._things = {}
        for kind in KINDS:
            for _ in range(self.sizes.each):
                self._place(kind)
        return self._observed(), {"touch": None}

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Live one tick. Ends when health is gone; is cut off after `sizes.ticks` ticks.

        Raises InputError for an action that is none.
        """
        if not self.action_space.contains(action):
            raise InputError(f"an action is a number from 0 to {len(ACTIONS) - 1}, not {action!r}")
        down, right = MOVES[ACTIONS[int(action)]]
        target = (self._at[0] + down, self._at[1] + right)
        if self._inside(target):
            self._at = target
        self._tick += 1
        self._tire()
        kind = self._things.pop(self._at, None)
        touch = None
        if kind is not None:
            touch = self._feel(kind)
            self._place(kind)
        dead = bool(self._body[0] <= 0)
        gained = sum(touch[1:]) if touch else 0
        reward = LIVED + POINT * gained
        return self._observed(), reward, dead, self._tick >= self.sizes.ticks, {"touch": touch}

    def _tire(self) -> None:
        self._body[1:] -= 1
        if (self._body[1:] < 0).any():
            self._body[0] -= 1
        self._body.clip(0, self._most, out=self._body)

    def _feel(self, kind: str) -> Touch:
        size, nature = self.sizes, self.rules.natures[kind]
        change = {
            Nature.FOOD: (0, size.meal, 0),
            Nature.WATER: (0, 0, size.meal),
            Nature.REMEDY: (size.cure, 0, 0),
            Nature.DANGER: (-size.harm, 0, 0),
        }[nature]
        before = self._body.copy()
        self._body = (before + change).clip(0, self._most)
        health, energy, water = (int(points) for points in self._body - before)
        return Touch(kind, health, energy, water)

    def _place(self, kind: str) -> None:
        """Put a thing onto a free cell; `Sizes` sees to it that there always is one."""
        side = self.sizes.side
        free = [
            (row, column)
            for row in range(side)
            for column in range(side)
            if (row, column) not in self._things and (row, column) != self._at
        ]
        self._things[free[int(self.np_random.integers(len(free)))]] = kind

    def _inside(self, cell: Cell) -> bool:
        return all(0 <= at < self.sizes.side for at in cell)

    def _observed(self) -> Observation:
        sight = self.sizes.sight
        reach = range(-sight, sight + 1)
        view = [
            [self._code((self._at[0] + down, self._at[1] + right)) for right in reach]
            for down in reach
        ]
        return {
            "body": self._body.copy(),
            "place": np.array(self._at, dtype=np.int64),
            "view": np.array(view, dtype=np.int64),
        }

    def _code(self, cell: Cell) -> int:
        if not self._inside(cell):
            return WALL
        kind = self._things.get(cell)
        return EMPTY if kind is None else FIRST_KIND + KINDS.index(kind)
