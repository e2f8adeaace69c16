"""Remember the ground of a life: cells seen, places of things, safe cells, the frontier."""

from dataclasses import dataclass

import numpy as np

from acc_ace.schemas.survival import Body, Cell
from acc_ace.survival.ground import HEADINGS, LAVA, ROCK, SAFE, UNSEEN, Codes, towards
from acc_ace.survival.planner import Outlook
from acc_ace.survival.world import Observation
from acc_ace.survival.world_rules import CREATURES, KINDS, TERRAIN, Sizes

MOST_PLACES = 3
"""Remembered places of a kind in an outlook."""


@dataclass
class _Place:
    """A place of a thing: its kind, and when it is ripe again, as far as known."""

    kind: str
    ripe: int = 0


class ExplorationMap:
    """What observations showed of the ground. Knows the sizes of the world, not its layout."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes, self.place, self.step = sizes, (0, 0), -1
        rim = (sizes.side + 2 * sizes.sight,) * 2
        self._terrain = np.full(rim, ROCK, dtype=np.int64)
        self._ground = self._terrain[sizes.sight : -sizes.sight, sizes.sight : -sizes.sight]
        self._ground[:] = UNSEEN
        self._places: dict[Cell, _Place] = {}

    def observe(self, observation: Observation) -> int:
        """Take an observation in, one for each step; returns how many cells are new."""
        self.step += 1
        row, column = self.place = _cell(observation["place"])
        span = 2 * self.sizes.sight + 1
        window = self._terrain[row : row + span, column : column + span]
        seen = observation["terrain"]
        new = int(((window == UNSEEN) & (seen != UNSEEN)).sum())
        np.copyto(window, seen, where=seen != UNSEEN)
        self._remember(observation["things"], seen != UNSEEN)
        return new

    def _remember(self, things: Codes, lit: Codes) -> None:
        row, column = self.place
        corner = (row - self.sizes.sight, column - self.sizes.sight)
        shown = set()
        for south, east in np.argwhere(things).tolist():
            cell = (corner[0] + south, corner[1] + east)
            shown.add(cell)
            self._places[cell] = _Place(KINDS[int(things[south, east]) - 1])
        for cell, place in self._places.items():
            south, east = cell[0] - corner[0], cell[1] - corner[1]
            inside = 0 <= south < len(lit) and 0 <= east < len(lit)
            if inside and cell not in shown and lit[south, east] and place.ripe <= self.step:
                # It was used just now, or while nobody looked: the longest that it can take.
                place.ripe = self.step + self.sizes.regrowth

    @property
    def cells_seen(self) -> int:
        """Cells of the world seen so far."""
        return int((self._ground != UNSEEN).sum())

    @property
    def kinds_seen(self) -> frozenset[str]:
        """Kinds of things seen so far."""
        return frozenset(place.kind for place in self._places.values())

    def frontier(self) -> Cell | None:
        """The nearest known walkable cell beside unseen ground, absolute."""
        ground = self._terrain
        unseen = ground == UNSEEN
        beside = np.zeros_like(unseen)
        beside[1:] |= unseen[:-1]
        beside[:-1] |= unseen[1:]
        beside[:, 1:] |= unseen[:, :-1]
        beside[:, :-1] |= unseen[:, 1:]
        return self._nearest(beside & (ground != ROCK) & (ground != LAVA) & ~unseen)

    def safe(self) -> Cell | None:
        """The nearest known safe cell, absolute."""
        return self._nearest(self._terrain == SAFE)

    def _nearest(self, cells: Codes) -> Cell | None:
        rows, columns = np.nonzero(cells)
        if not len(rows):
            return None
        sight = self.sizes.sight
        rows, columns = rows - sight, columns - sight
        at = (abs(rows - self.place[0]) + abs(columns - self.place[1])).argmin()
        return int(rows[at]), int(columns[at])

    def places(self, kind: str) -> tuple[Cell, ...]:
        """Remembered places of a kind that are ripe when reached, absolute, nearest first."""
        return tuple(cell for _, cell in self.ripe().get(kind, ()))

    def ripe(self) -> dict[str, list[tuple[int, Cell]]]:
        """Of each kind the places that are ripe when reached, with their distances in steps."""
        found: dict[str, list[tuple[int, Cell]]] = {}
        row, column = self.place
        for cell, place in self._places.items():
            far = abs(cell[0] - row) + abs(cell[1] - column)
            if place.ripe <= self.step + far:
                found.setdefault(place.kind, []).append((far, cell))
        return {kind: sorted(cells) for kind, cells in found.items()}


def outlook(
    observation: Observation,
    ground: ExplorationMap,
    *,
    threshold: float = 0.6,
    exploration: float = 0.5,
    danger: float | None = None,
) -> Outlook:
    """The moment of an observation that `ground` has taken in.

    `danger` defaults to the observation's own crude estimate.
    """
    sizes, (row, column) = ground.sizes, ground.place

    def relative(cell: Cell | None) -> Cell | None:
        return cell and (cell[0] - row, cell[1] - column)

    life, food, water = (int(points) for points in observation["body"])
    things = _codes(observation["things"], ("", *KINDS))
    places = {}
    for kind, ripe in sorted(ground.ripe().items()):
        far = ((cell[0] - row, cell[1] - column) for _, cell in ripe)
        if out := tuple(cell for cell in far if cell not in things):
            places[kind] = out[:MOST_PLACES]
    creatures = _codes(observation["creatures"], ("", *CREATURES))
    headings = _codes(observation["headings"], HEADINGS)
    return Outlook(
        body=Body(
            life=life,
            food=food,
            water=water,
            most_life=sizes.life,
            most_food=sizes.food,
            most_water=sizes.water,
        ),
        is_night=bool(observation["light"][0]),
        light_left=int(observation["light"][1]),
        is_safe=bool(observation["is_safe"]),
        sight=sizes.sight,
        terrain=_codes(observation["terrain"], TERRAIN),
        things=things,
        creatures=creatures,
        approaching=frozenset(
            (south, east)
            for south, east in creatures
            if headings.get((south, east)) in towards((-south, -east))
        ),
        places=places,
        safe=relative(ground.safe()),
        frontier=relative(ground.frontier()),
        danger=float(observation["danger"]) if danger is None else danger,
        threshold=threshold,
        exploration=exploration,
        unknown=float(observation["unknown"]),
    )


def _codes(view: Codes, names: tuple[str, ...]) -> dict[Cell, str]:
    """Names of the codes of a view by relative cell; code 0 is left out."""
    middle = len(view) // 2
    rows, columns = np.nonzero(view)
    cells = zip((rows - middle).tolist(), (columns - middle).tolist(), strict=True)
    return dict(zip(cells, map(names.__getitem__, view[rows, columns].tolist()), strict=True))


def _cell(array: Codes) -> Cell:
    row, column = array.tolist()
    return row, column
