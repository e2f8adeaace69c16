"""Find the cheapest ways over the cells in sight, round what may bite."""

from collections.abc import Collection, Mapping, Sequence
from heapq import heappop, heappush
from itertools import product
from typing import NamedTuple

from acc_ace.schemas.survival import Cell
from acc_ace.survival.ground import MOVES
from acc_ace.survival.world import THICKET_COST

COSTS = {"plain": 1, "safe": 1, "thicket": 1 + THICKET_COST}
"""Points of food and water for a step onto a terrain; onto others nobody goes."""

KEEP_OFF, CHASED, PENALTY = 1, 2, 2
"""Steps that a threat is expected to make, also if it approaches; points for each step nearer."""

AWAY = 99
"""Steps to a threat that is not there."""


class Way(NamedTuple):
    """The cheapest way to a cell: points and steps that it takes, and its last step."""

    cost: int
    time: int
    before: Cell
    direction: str


class Ways:
    """The ways from the body's cell (0, 0) over `terrain`, with `threats` in sight.

    Where a threat may catch the body a step costs more; one that `approaches` is expected to
    come nearer, by night quicker than by day.
    """

    def __init__(
        self,
        terrain: Mapping[Cell, str],
        threats: Sequence[Cell],
        *,
        approaches: bool,
        is_night: bool,
    ) -> None:
        self._terrain, self._threats, self._is_night = terrain, threats, is_night
        self._most_reach = CHASED if approaches else KEEP_OFF
        self.found: dict[Cell, Way] = {}
        self._rim: Collection[Cell] = self._explore() or self.found

    def _explore(self) -> Collection[Cell]:
        """Find all ways; returns the cells beside ground out of sight."""
        terrain, found = self._terrain, self.found
        perils = self._perils()
        prices = {cell: COSTS[code] for cell, code in terrain.items() if code in COSTS}
        rim: dict[Cell, None] = {}
        queue = [(0, 0, (0, 0), (0, 0), "")]
        while queue:
            cost, time, cell, before, direction = heappop(queue)
            if cell in found:
                continue
            found[cell] = Way(cost, time, before, direction)
            time += 1
            for name, (south, east) in MOVES.items():
                beside = (cell[0] + south, cell[1] + east)
                price = prices.get(beside)
                if price is None or beside in found:
                    if beside not in terrain:
                        rim[cell] = None
                    continue
                if beside in perils and terrain[beside] != "safe":
                    price += PENALTY * max(self._reach(time) - perils[beside], 0)
                heappush(queue, (cost + price, time, beside, cell, name))
        return rim

    def _perils(self) -> dict[Cell, int]:
        """Steps of the nearest threat to the cells that are near one."""
        span = range(-CHASED, CHASED + 1)
        cells = [(row + s, col + e) for row, col in self._threats for s, e in product(span, span)]
        return {cell: self.peril(cell) for cell in cells}

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
        south, east = target
        return min(
            (self.found[cell].cost + abs(cell[0] - south) + abs(cell[1] - east), cell)
            for cell in ends
        )

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


def apart(cell: Cell, other: Cell = (0, 0)) -> int:
    """Steps between two cells with nothing in the way."""
    return abs(cell[0] - other[0]) + abs(cell[1] - other[1])
