"""A gridworld where one lives as long as life lasts (gymnasium.Env).

Each step costs food and water; without either, life. Things stand at places and grow back there
when used. Lava burns, hunters bite, the safe area heals who is fed. The same rules, sizes, seed
and actions always give the same life.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces

from acc_ace.errors import InputError
from acc_ace.schemas.survival import Cell
from acc_ace.survival.world_rules import (
    CREATURES,
    KINDS,
    SIGNS,
    TERRAIN,
    Nature,
    Rules,
    Sizes,
)

MOVES: Final = {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1)}
"""Directions as steps of row and column."""

ACTIONS: Final = (*MOVES, "wait", "use")
"""The actions, in the order of their numbers."""

HEADINGS: Final = ("", *MOVES)
"""Where a creature is heading, by its code in a view; '' when it stands."""

LIVED, POINT = 0.1, 0.1
"""Reward of a step, and of each point of life that is gained or lost."""

UNSEEN, PLAIN, ROCK, THICKET, LAVA, SAFE = range(len(TERRAIN))
THICKET_COST = 2
"""Food and water that a step into a thicket costs beyond that of any step."""

FED = 0.3
"""Share of food and of water from which on the safe area heals."""

Observation = dict[str, Any]
"""Arrays by name; gymnasium types the values of its Dict space as spaces."""


class Touch(NamedTuple):
    """What a used thing did to the body, in points after the bounds of the body."""

    kind: str
    life: int = 0
    food: int = 0
    water: int = 0


class Hit(NamedTuple):
    """Life lost to a creature, or to a terrain; `by` names it."""

    by: str
    life: int


class World(gymnasium.Env[Observation, np.int64]):
    """One body among things, creatures and signs.

    Observed are, as arrays of int64 unless said otherwise:
    `body` life, food and water; `place` row and column; `terrain`, `things`, `creatures` and
    `headings` (2 · sight + 1)² views of codes with the body in the middle (0 is nothing or
    unseen; things and creatures are their number + 1, headings those of HEADINGS); `light`
    is-night and steps to the change; `is_safe` 0 or 1; `danger` nearness of the nearest
    approaching creature and `unknown` the share of seen cells that are new, float32 from 0 to 1;
    `damage` life lost in the last step.
    `info` holds `touch` (Touch or None), `hits` (tuple of Hit) and `signs` (texts in sight).
    """

    def __init__(
        self, rules: Rules, sizes: Sizes | None = None, signs: Sequence[str] = SIGNS
    ) -> None:
        self.rules, self.sizes, self.signs = rules, sizes or Sizes(), tuple(signs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Lay out a world; the same seed gives the same one. `options` are not used."""
        raise NotImplementedError

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Live one step. Ends when life is gone; is cut off after `sizes.steps` steps.

        Raises InputError for an action that is none.
        """
        raise NotImplementedError
