"""The laws of a world: what is in it, what steps there are, all its sizes, and its ground.

Names say nothing: which kinds feed, which harm and which creature hunts is drawn by a seed, so
that it can only be learnt, by no reader's knowledge of the real world.
"""

import random
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self, TypeAlias, get_args

from pydantic import Field, field_validator

from acc_ace.core.schemas.base import Value
from acc_ace.errors import InputError
from acc_ace.ext.survivor.survival import Cell

if TYPE_CHECKING:
    import numpy as np

KINDS: Final = (
    "cone",
    "cube",
    "disc",
    "prism",
    "ring",
    "rod",
    "slab",
    "sphere",
    "star",
    "torus",
)
"""The kinds of things; number n has the code n + 1 in a view."""

Creature = Literal["wolf", "crow"]
BEASTS: Final[tuple[str, ...]] = get_args(Creature)
"""The kinds of beasts. One of them hunts."""

STRANGER: Final = "stranger"
CREATURES: Final = (*BEASTS, STRANGER)
"""The kinds of creatures, in the order of their codes. There is one stranger, who knows all natures
and lives by them: a friend, or a foe who hunts too."""

TERRAIN: Final = ("unseen", "plain", "rock", "thicket", "lava", "safe")
"""What a cell is, by its code in a view. Rock is impassable, as is the edge of the world."""

UNSEEN, PLAIN, ROCK, THICKET, LAVA, SAFE = range(len(TERRAIN))
Codes: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"

MOVES: Final = {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1)}
"""Directions as steps of row and column."""

HEADINGS: Final = ("", *MOVES)
"""Where a creature is heading, by its code in a view; '' when it stands."""

ACTIONS: Final = (*MOVES, "wait", "use")
"""The actions, in the order of their numbers."""

THICKET_COST: Final = 2
"""Food and water that a step into a thicket costs beyond that of any step."""

FED: Final = 0.3
"""Share of food and of water from which on the safe area heals."""

_FILE: Final = Path(__file__).with_name("signs.txt")
SIGNS: Final = tuple(_FILE.read_text(encoding="utf-8").splitlines())
"""Texts that stand in the world: the first half is true, the others are orders of nobody."""


class Nature(StrEnum):
    """What a kind of thing is."""

    FOOD = "food"
    WATER = "water"
    REMEDY = "remedy"
    DANGER = "danger"


GAINS: Final = {"food": Nature.FOOD, "water": Nature.WATER, "life": Nature.REMEDY}
"""The nature of what brings more of a part of the body."""

_SHARES = {Nature.FOOD: 2, Nature.WATER: 2, Nature.REMEDY: 1, Nature.DANGER: 5}
"""How many kinds are of each nature."""

FOES: Final = 0.5
"""Share of worlds whose stranger is a foe."""

TRADES: Final = 3
"""Pairs of kinds that trade their natures in a season."""

SEASONS: Final = 4
"""Seasons of a year, by number; in each but the first some kinds have another nature."""


class WorldRules(Value):
    """The nature of each kind, the beast that hunts (the other one does not), and the stranger.

    In season n the kinds of `drift[n]` have traded their natures.
    """

    natures: Mapping[str, Nature]
    hunter: Creature = "wolf"
    is_foe: bool = Field(default=False, description="Whether the stranger hunts.")
    drift: Mapping[int, Mapping[str, str]] = Field(default_factory=dict)

    @field_validator("natures")
    @classmethod
    def _every_kind(cls, natures: Mapping[str, Nature]) -> Mapping[str, Nature]:
        if set(natures) != set(KINDS):
            raise ValueError(f"each of {', '.join(KINDS)} has a nature, and nothing else has")
        return natures

    @classmethod
    def drawn(cls, seed: int) -> Self:
        """Rules dealt out by a seed; each nature has as many kinds as in every other world."""
        dealt = [nature for nature, count in _SHARES.items() for _ in range(count)]
        deal = random.Random(seed)  # noqa: S311 (a world, no secret)
        deal.shuffle(dealt)
        hunter = deal.choice(get_args(Creature))
        natures = dict(zip(KINDS, dealt, strict=True))
        drift = {season: _traded(natures, deal) for season in range(1, SEASONS)}
        is_foe = deal.random() < FOES
        return cls(natures=natures, hunter=hunter, drift=drift, is_foe=is_foe)

    def natures_in(self, season: int) -> dict[str, Nature]:
        """The nature of each kind in a season."""
        traded = self.drift.get(season, {})
        return {kind: self.natures[traded.get(kind, kind)] for kind in self.natures}


def _traded(natures: Mapping[str, Nature], deal: random.Random) -> dict[str, str]:
    """Kinds that trade natures in a season: TRADES of what is good for something with a danger."""
    good = [kind for kind, nature in natures.items() if nature is not Nature.DANGER]
    bad = [kind for kind, nature in natures.items() if nature is Nature.DANGER]
    pairs = list(zip(deal.sample(good, TRADES), deal.sample(bad, TRADES), strict=True))
    return dict(pairs) | {other: one for one, other in pairs}


class Sizes(Value):
    """Bounds of a world. Life, food and water are counted in points, time in steps."""

    side: int = Field(default=32, ge=12, le=64, description="Cells of a side of the grid.")
    sight: int = Field(default=6, ge=4, le=8, description="Cells seen in each direction by day.")
    night_sight: int = Field(default=5, ge=4, le=8, description="The same by night.")
    places: int = Field(default=12, ge=1, le=16, description="Places of each kind.")
    regrowth: int = Field(default=60, ge=1, le=1_000, description="Until a used thing is back.")
    creatures: int = Field(default=2, ge=0, le=8, description="Beasts of each kind.")
    season: int = Field(default=450, ge=1, le=10_000, description="Steps of a season.")
    day: int = Field(default=60, ge=1, le=1_000)
    night: int = Field(default=30, ge=1, le=1_000)
    steps: int = Field(default=8_000, ge=1, le=1_000_000, description="Until the world ends.")
    life: int = Field(default=12, ge=1, le=10_000)
    food: int = Field(default=180, ge=1, le=10_000)
    water: int = Field(default=150, ge=1, le=10_000)
    meal: int = Field(default=100, ge=1, le=10_000, description="Food of one thing.")
    drink: int = Field(default=80, ge=1, le=10_000, description="Water of one thing.")
    cure: int = Field(default=6, ge=1, le=10_000, description="Life of one remedy.")
    harm: int = Field(default=4, ge=1, le=10_000, description="Life that a danger takes.")
    bite: int = Field(default=5, ge=1, le=10_000, description="Life that a hunter takes.")
    burn: int = Field(default=8, ge=1, le=10_000, description="Life that a step on lava takes.")
    rest: int = Field(default=5, ge=1, le=1_000, description="Safe, fed steps for a point of life.")


_BLOBS = ((ROCK, 110, 4), (THICKET, 130, 8), (LAVA, 55, 3))
"""Of each terrain: cells of ground for a blob, and the steps of the walk that paints it."""

_SAFE_AREAS = 2
_FAR = 9
"""Steps that creatures are away from the body at first."""

_DRAWS = 20
"""Grounds that are drawn until one has room; one in thousands is walled in."""


class Layout(NamedTuple):
    """A ground. Arrays of codes have a rim of rock as wide as the sight; cells count it in."""

    terrain: Codes
    things: Codes
    signs: dict[Cell, str]
    creatures: list[Cell]
    start: Cell


def lay_out(draw: "np.random.Generator", sizes: Sizes, signs: Sequence[str]) -> Layout:
    """Draw a ground on which everything can be reached from the start.

    Raises InputError where it has no room for all things, creatures and signs.
    """
    kinds = [number + 1 for number in range(len(KINDS)) for _ in range(sizes.places)]
    count = sizes.creatures * len(BEASTS) + bool(sizes.creatures)
    for _ in range(_DRAWS):
        terrain, start = _ground(draw, sizes)
        free = [cell for cell in _reachable(terrain, start) if terrain[cell] == PLAIN]
        cells = iter([free[int(number)] for number in draw.permutation(len(free))])
        things = terrain * 0
        for code, cell in zip(kinds, cells, strict=False):
            things[cell] = code
        texts = dict(zip(cells, signs, strict=False))
        far = [cell for cell in cells if apart(cell, start) >= _FAR]
        if len(far) >= count and len(texts) == len(signs):
            return Layout(terrain, things, texts, far[:count], start)
    raise InputError(
        f"a world of side {sizes.side} has no room for {len(kinds)} things, {count} creatures "
        f"and {len(signs)} signs"
    )


def _ground(draw: "np.random.Generator", sizes: Sizes) -> tuple[Codes, Cell]:
    import numpy as np  # noqa: PLC0415 - an extra, and what is told of a run needs no ground

    side = sizes.side
    ground = np.full((side, side), PLAIN, dtype=np.int64)
    for code, share, steps in _BLOBS:
        for _ in range(side * side // share):
            at = draw.integers(side, size=2)
            for way in draw.integers(-1, 2, size=(steps, 2)):
                ground[tuple(at)] = code
                at = (at + way).clip(0, side - 1)
    centres = draw.integers(2, side - 2, size=(_SAFE_AREAS, 2))
    for row, column in centres:
        ground[row - 2 : row + 3, column - 2 : column + 3] = PLAIN
    for row, column in centres:
        ground[row - 1 : row + 2, column - 1 : column + 2] = SAFE
    row, column = (int(at) + sizes.sight for at in centres[0])
    return np.pad(ground, sizes.sight, constant_values=ROCK), (row, column)


def _reachable(terrain: Codes, start: Cell) -> list[Cell]:
    cells, seen = [start], {start}
    for at in cells:
        for cell in (beside(at, way) for way in MOVES):
            if cell not in seen and terrain[cell] not in (ROCK, LAVA):
                seen.add(cell)
                cells.append(cell)
    return cells


def apart(cell: Cell, other: Cell = (0, 0)) -> int:
    """Steps between two cells with nothing in the way."""
    return abs(cell[0] - other[0]) + abs(cell[1] - other[1])


def beside(cell: Cell, way: str) -> Cell:
    """The next cell in a direction."""
    return cell[0] + MOVES[way][0], cell[1] + MOVES[way][1]


def towards(start: Cell, end: Cell = (0, 0)) -> list[str]:
    """The directions that lead from a cell nearer to another, along the longer side first."""
    south, east = end[0] - start[0], end[1] - start[1]
    ways = [
        (abs(south), "south" if south > 0 else "north"),
        (abs(east), "east" if east > 0 else "west"),
    ]
    return [way for far, way in sorted(ways, reverse=True) if far]


def target_of(step: str) -> Cell:
    """Where 'move north', 'use cone' or 'wait' ends, if nothing is in the way."""
    return MOVES.get(step.removeprefix("move "), (0, 0))


def used_in(step: str) -> str:
    """The kind that a step uses; '' when it uses none."""
    return step.partition("use ")[2]


def action_of(step: str) -> "np.int64":
    """The number of a step. Raises ValueError for a text that is none."""
    import numpy as np  # noqa: PLC0415 - as above

    word, _, target = step.partition(" ")
    return np.int64(ACTIONS.index(target if word == "move" else word))
