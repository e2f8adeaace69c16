"""The ground of a world, laid out by a seed, and the creatures that walk on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from acc_ace.errors import InputError
from acc_ace.schemas.survival import Cell
from acc_ace.survival.world_rules import CREATURES, KINDS, TERRAIN, Sizes

Codes = np.ndarray[Any, np.dtype[np.int64]]
UNSEEN, PLAIN, ROCK, THICKET, LAVA, SAFE = range(len(TERRAIN))

MOVES: Final = {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1)}
"""Directions as steps of row and column."""

HEADINGS: Final = ("", *MOVES)
"""Where a creature is heading, by its code in a view; '' when it stands."""

HAUNTS: Final = (PLAIN, THICKET)
"""Terrain that creatures walk on."""

NOTICE, PACE = (3, 4), (2, 3)
"""By day, by night: steps from which a creature notices the body; of so many steps it rests one."""

STAMINA, SATED, TURN = 10, 20, 0.2
"""Steps of a chase, steps without one afterwards; chance of a turn while wandering."""

_BLOBS = ((ROCK, 110, 4), (THICKET, 130, 8), (LAVA, 55, 3))
"""Of each terrain: cells of ground for a blob, and the steps of the walk that paints it."""

_SAFE_AREAS = 2
_FAR = 9
"""Steps that creatures are away from the body at first."""

_DRAWS = 20
"""Grounds that are drawn until one has room; one in thousands is walled in."""


@dataclass(frozen=True)
class Layout:
    """A ground. Arrays of codes have a rim of rock as wide as the sight; cells count it in."""

    terrain: Codes
    things: Codes
    signs: dict[Cell, str]
    creatures: list[Cell]
    start: Cell


def lay_out(draw: np.random.Generator, sizes: Sizes, signs: Sequence[str]) -> Layout:
    """Draw a ground on which everything can be reached from the start.

    Raises InputError where it has no room for all things, creatures and signs.
    """
    kinds = [number + 1 for number in range(len(KINDS)) for _ in range(sizes.places)]
    count = sizes.creatures * len(CREATURES)
    for _ in range(_DRAWS):
        terrain, start = _ground(draw, sizes)
        free = [cell for cell in _reachable(terrain, start) if terrain[cell] == PLAIN]
        cells = iter([free[int(number)] for number in draw.permutation(len(free))])
        things = np.zeros_like(terrain)
        for code, cell in zip(kinds, cells, strict=False):
            things[cell] = code
        texts = dict(zip(cells, signs, strict=False))
        far = [cell for cell in cells if abs(cell[0] - start[0]) + abs(cell[1] - start[1]) >= _FAR]
        if len(far) >= count and len(texts) == len(signs):
            return Layout(terrain, things, texts, far[:count], start)
    raise InputError(
        f"a world of side {sizes.side} has no room for {len(kinds)} things, {count} creatures "
        f"and {len(signs)} signs"
    )


def _ground(draw: np.random.Generator, sizes: Sizes) -> tuple[Codes, Cell]:
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
    found, seen = [start], {start}
    for row, column in found:
        for cell in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            if cell not in seen and terrain[cell] not in (ROCK, LAVA):
                seen.add(cell)
                found.append(cell)
    return found


class Scene(NamedTuple):
    """What creatures go by in a step: the ground, the body, the time, and who stands where."""

    draw: np.random.Generator
    terrain: Codes
    body: Cell
    is_safe: bool
    is_night: bool
    step: int
    taken: frozenset[Cell]


@dataclass
class Creature:
    """A creature: where it is and heads, for how many steps it chases or has lost interest."""

    kind: str
    at: Cell
    heading: str = ""
    chase: int = 0
    sated: int = 0

    def act(self, scene: Scene, *, hunts: bool) -> bool:
        """Chase the body or wander; True for a bite.

        What is noticed from afar is faced for a step before it is followed, so that each bite
        has been announced in two observations.
        """
        far = sum(map(abs, self._apart(scene)))
        self.sated = max(self.sated - 1, 0)
        notices = far <= NOTICE[scene.is_night] and not self.sated and not scene.is_safe
        if not notices or not (self.chase or far > 1):
            self.chase = 0
            self._wander(scene)
            return False
        self.chase += 1
        rests = self.chase == 1 or scene.step % PACE[scene.is_night] == 0
        bites = hunts and far == 1 and self.chase > 2 and not rests
        if bites or self.chase > STAMINA:
            self.chase, self.sated = 0, SATED
        elif not rests and far > 1:
            any(self._walk(scene, way) for way in towards(self._apart(scene)))
        self.heading = towards(self._apart(scene))[0]
        return bites

    def _apart(self, scene: Scene) -> Cell:
        return scene.body[0] - self.at[0], scene.body[1] - self.at[1]

    def _wander(self, scene: Scene) -> None:
        if scene.step % 2:
            return
        if not self.heading or scene.draw.random() < TURN:
            self.heading = HEADINGS[int(scene.draw.integers(len(HEADINGS)))]
        if self.heading and not self._walk(scene, self.heading):
            self.heading = ""

    def _walk(self, scene: Scene, way: str) -> bool:
        target = beside(self.at, way)
        if scene.terrain[target] not in HAUNTS or target in scene.taken:
            return False
        self.at, self.heading = target, way
        return True


def beside(cell: Cell, way: str) -> Cell:
    """The next cell in a direction."""
    south, east = MOVES[way]
    return cell[0] + south, cell[1] + east


def towards(apart: Cell) -> list[str]:
    """The directions that shorten a distance (south, east), the longer side first."""
    south, east = apart
    ways = [
        (abs(south), "south" if south > 0 else "north"),
        (abs(east), "east" if east > 0 else "west"),
    ]
    return [way for far, way in sorted(ways, reverse=True) if far]
