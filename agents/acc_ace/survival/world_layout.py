"""Lay out the ground of a world: terrain in blobs, safe areas, things, signs and creatures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from acc_ace.errors import InputError
from acc_ace.schemas.survival import Cell
from acc_ace.survival.world_rules import CREATURES, KINDS, TERRAIN, Sizes

Codes = np.ndarray[Any, np.dtype[np.int64]]
UNSEEN, PLAIN, ROCK, THICKET, LAVA, SAFE = range(len(TERRAIN))

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
