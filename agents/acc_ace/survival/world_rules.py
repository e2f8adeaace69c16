"""Effects of touching the things of a world, and all sizes.

Names say nothing: which kinds feed and which harm is drawn by a seed, so that it can only be
learnt, by no reader's knowledge of the real world.
"""

import random
from collections.abc import Mapping
from enum import StrEnum
from typing import Self

from pydantic import Field, field_validator

from acc_ace.schemas.base import Value

KINDS = ("cone", "cube", "disc", "prism", "ring", "rod", "slab", "sphere", "star", "torus")
"""The kinds of things, in the order of their codes in a view."""


class Nature(StrEnum):
    """What a kind of thing is."""

    FOOD = "food"
    WATER = "water"
    REMEDY = "remedy"
    DANGER = "danger"


_SHARES = {Nature.FOOD: 2, Nature.WATER: 2, Nature.REMEDY: 1, Nature.DANGER: 5}
"""How many kinds are of each nature."""


class Rules(Value):
    """The nature of each kind."""

    natures: Mapping[str, Nature]

    @field_validator("natures")
    @classmethod
    def _every_kind(cls, natures: Mapping[str, Nature]) -> Mapping[str, Nature]:
        if set(natures) != set(KINDS):
            raise ValueError(f"each of {', '.join(KINDS)} has a nature, and nothing else has")
        return natures

    @classmethod
    def drawn(cls, seed: int) -> Self:
        """Natures dealt out by a seed; each nature has as many kinds as in every other world."""
        dealt = [nature for nature, count in _SHARES.items() for _ in range(count)]
        random.Random(seed).shuffle(dealt)  # noqa: S311 (a world, no secret)
        return cls(natures=dict(zip(KINDS, dealt, strict=True)))


class Sizes(Value):
    """Bounds of a world. Health, energy and water are counted in points, time in ticks."""

    side: int = Field(default=12, ge=6, le=64, description="Cells of a side of the grid.")
    sight: int = Field(default=3, ge=1, le=8, description="Cells seen in each direction.")
    each: int = Field(default=2, ge=1, le=3, description="Things of each kind at any time.")
    ticks: int = Field(default=300, ge=1, le=10_000, description="Ticks until the world ends.")
    health: int = Field(default=10, ge=1, le=1_000)
    energy: int = Field(default=40, ge=1, le=1_000)
    water: int = Field(default=40, ge=1, le=1_000)
    meal: int = Field(default=20, ge=1, le=1_000, description="Energy or water of one thing.")
    cure: int = Field(default=4, ge=1, le=1_000, description="Health of one remedy.")
    harm: int = Field(default=4, ge=1, le=1_000, description="Health that a danger takes.")
