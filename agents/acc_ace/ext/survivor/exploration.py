"""What is known of the ground: a life's map of it, the moment that it gives, and the ways.

Ways go over the cells in sight, the cheapest first, round what may bite.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import product
from typing import NamedTuple

import numpy as np

from acc_ace.ext.survivor.survival import Body, Cell
from acc_ace.ext.survivor.world import Observation
from acc_ace.ext.survivor.world_rules import (
    CREATURES,
    HEADINGS,
    KINDS,
    LAVA,
    MOVES,
    ROCK,
    SAFE,
    TERRAIN,
    THICKET_COST,
    UNSEEN,
    Codes,
    Sizes,
    apart,
    beside,
    towards,
)

MOST_PLACES = 3
"""Remembered places of a kind in an outlook."""

COSTS = {"plain": 1, "safe": 1, "thicket": 1 + THICKET_COST}
"""Points of food and water for a step onto a terrain; onto others nobody goes."""

KEEP_OFF, CHASED, PENALTY = 1, 2, 2
"""Steps that a threat is expected to make, also if it approaches; points for each step nearer."""

AWAY = 99
"""Steps to a threat that is not there."""


CELL_BITS = 0.005
"""Bits that a newly seen cell counts for."""


class Prospect(NamedTuple):
    """What trying a kind promises: expected bits, and P(harm)."""

    bits: float
    harm: float


@dataclass(frozen=True)
class Outlook:
    """All that is known of a moment. Cells are steps south and east of the body."""

    body: Body
    is_night: bool
    light_left: int
    is_safe: bool
    sight: int
    terrain: Mapping[Cell, str]
    things: Mapping[Cell, str]
    creatures: Mapping[Cell, str]
    approaching: frozenset[Cell]
    places: Mapping[str, tuple[Cell, ...]]
    safe: Cell | None
    frontier: Cell | None
    danger: float
    threshold: float
    exploration: float
    unknown: float = 0.0
    season: int = 0
    frontier_bits: float = 0.0
    prospects: Mapping[str, Prospect] = field(default_factory=dict)
    hurt: frozenset[Cell] = frozenset()


class ExplorationMap:
    """What observations showed of the ground. Knows the sizes of the world, not its layout."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes, self.place, self.step = sizes, (0, 0), -1
        ground = np.full((sizes.side, sizes.side), UNSEEN, dtype=np.int64)
        self._terrain = np.pad(ground, sizes.sight, constant_values=ROCK)
        self._places: dict[Cell, tuple[str, int]] = {}
        """The kind of each place of a thing, and when it is ripe again, as far as known."""
        self.hurt: set[Cell] = set()
        """Where the body was harmed."""

    def observe(self, observation: Observation) -> int:
        """Take an observation in, one for each step; returns how many cells are new."""
        self.step += 1
        row, column = self.place = tuple(observation["place"].tolist())
        span = 2 * self.sizes.sight + 1
        window = self._terrain[row : row + span, column : column + span]
        seen = observation["terrain"]
        new = int(((window == UNSEEN) & (seen != UNSEEN)).sum())
        np.copyto(window, seen, where=seen != UNSEEN)
        self._remember(observation["things"], seen != UNSEEN)
        return new

    def _remember(self, things: Codes, lit: Codes) -> None:
        row, column = self.place
        seen = _codes(things, ("", *KINDS)).items()
        shown = {(row + south, column + east): (kind, 0) for (south, east), kind in seen}
        self._places |= shown
        corner = (row - self.sizes.sight, column - self.sizes.sight)
        for cell, (kind, ripe) in self._places.items():
            south, east = cell[0] - corner[0], cell[1] - corner[1]
            inside = 0 <= south < len(lit) and 0 <= east < len(lit)
            if inside and cell not in shown and lit[south, east] and ripe <= self.step:
                # It was used just now, or while nobody looked: the longest that it can take.
                self._places[cell] = (kind, self.step + self.sizes.regrowth)

    @property
    def cells_seen(self) -> int:
        """Cells of the world seen so far."""
        return self.sizes.side**2 - int((self._terrain == UNSEEN).sum())

    @property
    def kinds_seen(self) -> frozenset[str]:
        """Kinds of things seen so far."""
        return frozenset(kind for kind, _ in self._places.values())

    def frontier(self) -> Cell | None:
        """The nearest known walkable cell beside unseen ground, absolute."""
        ground = self._terrain
        unseen = ground == UNSEEN
        # The rim is rock, so that nothing comes round.
        edge = np.any([np.roll(unseen, way, (0, 1)) for way in MOVES.values()], axis=0)
        return self._nearest(edge & ~np.isin(ground, (UNSEEN, ROCK, LAVA)))

    def promise(self, cell: Cell) -> float:
        """Bits of the unseen cells that are in sight of a cell."""
        span = 2 * self.sizes.sight + 1
        window = self._terrain[cell[0] : cell[0] + span, cell[1] : cell[1] + span]
        return CELL_BITS * float((window == UNSEEN).sum())

    def safe(self) -> Cell | None:
        """The nearest known safe cell, absolute."""
        return self._nearest(self._terrain == SAFE)

    def _nearest(self, cells: Codes) -> Cell | None:
        places = np.argwhere(cells) - self.sizes.sight
        if not len(places):
            return None
        row, column = places[abs(places - self.place).sum(axis=1).argmin()]
        return int(row), int(column)

    def ripe(self) -> dict[str, list[tuple[int, Cell]]]:
        """Of each kind the places that are ripe when reached, with their distances in steps."""
        fields: dict[str, list[tuple[int, Cell]]] = {}
        for cell, (kind, ripe) in self._places.items():
            far = apart(cell, self.place)
            if ripe <= self.step + far:
                fields.setdefault(kind, []).append((far, cell))
        return {kind: sorted(cells) for kind, cells in fields.items()}


def outlook(
    observation: Observation,
    ground: ExplorationMap,
    *,
    threshold: float = 0.6,
    exploration: float = 0.5,
) -> Outlook:
    """The moment of an observation that `ground` has taken in."""
    sizes, (row, column) = ground.sizes, ground.place
    frontier, safe = ground.frontier(), ground.safe()

    def relative(cell: Cell) -> Cell:
        return cell[0] - row, cell[1] - column

    points = (*observation["body"].tolist(), sizes.life, sizes.food, sizes.water)
    things = _codes(observation["things"], ("", *KINDS))
    places = {}
    for kind, ripe in sorted(ground.ripe().items()):
        far = (relative(cell) for _, cell in ripe)
        if out := tuple(cell for cell in far if cell not in things):
            places[kind] = out[:MOST_PLACES]
    creatures = _codes(observation["creatures"], ("", *CREATURES))
    headings = _codes(observation["headings"], HEADINGS)
    return Outlook(
        body=Body(**dict(zip(Body.model_fields, points, strict=True))),
        is_night=bool(observation["light"][0]),
        light_left=int(observation["light"][1]),
        is_safe=bool(observation["is_safe"]),
        sight=sizes.sight,
        terrain=_codes(observation["terrain"], TERRAIN),
        things=things,
        creatures=creatures,
        approaching=frozenset(cell for cell in creatures if headings.get(cell) in towards(cell)),
        places=places,
        safe=safe and relative(safe),
        frontier=frontier and relative(frontier),
        frontier_bits=round(ground.promise(frontier), 2) if frontier else 0.0,
        hurt=frozenset(map(relative, ground.hurt)),
        danger=float(observation["danger"]),
        threshold=threshold,
        exploration=exploration,
        unknown=float(observation["unknown"]),
        season=int(observation["season"]),
    )


def _codes(view: Codes, names: tuple[str, ...]) -> dict[Cell, str]:
    """Names of the codes of a view by relative cell; code 0 is left out."""
    middle = len(view) // 2
    rows, columns = np.nonzero(view)
    cells = zip((rows - middle).tolist(), (columns - middle).tolist(), strict=True)
    return dict(zip(cells, map(names.__getitem__, view[rows, columns].tolist()), strict=True))


class Way(NamedTuple):
    """The cheapest way to a cell: points and steps that it takes, and its last step."""

    cost: int
    time: int
    before: Cell
    direction: str


class Ways:
    """The ways from the body's cell (0, 0) over the terrain in sight, with `threats`.

    Where a threat may catch the body a step costs more; one that approaches is expected to
    come nearer, by night quicker than by day.
    """

    def __init__(self, outlook: Outlook, threats: Sequence[Cell]) -> None:
        self._terrain, self._threats, self._is_night = outlook.terrain, threats, outlook.is_night
        self._most_reach = CHASED if outlook.approaching else KEEP_OFF
        self.found: dict[Cell, Way] = {}
        self._rim: Collection[Cell] = self._explore() or self.found

    def _explore(self) -> Collection[Cell]:
        """Find all ways; returns the cells beside ground out of sight."""
        terrain, ways = self._terrain, self.found
        span = range(-CHASED, CHASED + 1)
        near = [(row + s, col + e) for row, col in self._threats for s, e in product(span, span)]
        perils = {cell: self.peril(cell) for cell in near}
        prices = {cell: COSTS[code] for cell, code in terrain.items() if code in COSTS}
        rim: dict[Cell, None] = {}
        queue = [(0, 0, (0, 0), (0, 0), "")]
        while queue:
            cost, time, cell, before, direction = heappop(queue)
            if cell in ways:
                continue
            ways[cell] = Way(cost, time, before, direction)
            time += 1
            for name in MOVES:
                onto = beside(cell, name)
                price = prices.get(onto)
                if price is None or onto in ways:
                    if onto not in terrain:
                        rim[cell] = None
                    continue
                if onto in perils and terrain[onto] != "safe":
                    price += PENALTY * max(self._reach(time) - perils[onto], 0)
                heappush(queue, (cost + price, time, onto, cell, name))
        return rim

    def _reach(self, time: int) -> int:
        """From how many steps a threat may reach the body by then."""
        made = time - time // 3 if self._is_night else (time + 1) // 2
        return 1 + min(made, self._most_reach)

    def peril(self, cell: Cell) -> int:
        """Steps of the nearest threat to a cell."""
        return min((apart(cell, threat) for threat in self._threats), default=AWAY)

    def cost(self, cell: Cell) -> int:
        """Points that it takes to a cell, at least those where no way is in sight."""
        return self.found[cell].cost if cell in self.found else self._towards(cell)[0]

    def _towards(self, target: Cell) -> tuple[int, Cell]:
        """Points that a target takes to which no way is in sight, and the cell to go over.

        Ground out of sight is reached over the rim of what is seen.
        """
        ends = self.found if target in self._terrain else self._rim
        return min((self.found[cell].cost + apart(cell, target), cell) for cell in ends)

    def refuge(self, most: int) -> Cell:
        """The cell within `most` steps where threats are furthest; a safe one if there is any."""

        def comfort(cell: Cell) -> tuple[bool, int, int, Cell]:
            way = self.found[cell]
            is_safe = self._terrain.get(cell) == "safe"
            return is_safe, self.peril(cell) - way.time, -way.cost, cell

        return max((cell for cell, way in self.found.items() if way.time <= most), key=comfort)

    def moves(self, target: Cell) -> tuple[list[str], bool]:
        """The moves to a cell, and whether they reach it: they go as far as can be seen."""
        cell = target if target in self.found else self._towards(target)[1]
        reached, moves = cell == target, []
        while cell != (0, 0):
            moves.append(f"move {self.found[cell].direction}")
            cell = self.found[cell].before
        return moves[::-1], reached
