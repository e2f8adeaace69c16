"""Plan the next steps from what is known of a moment: the one planning code of all survivors.

Pure and deterministic. It knows the laws of the world (distances, reach of a hunter, what a step
costs), but of natures nothing beyond the beliefs that it is given.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import permutations, product
from typing import Literal, NamedTuple

from acc_ace.schemas.survival import MOST_STEPS, Body, Cell
from acc_ace.survival.world import FED, MOVES, THICKET_COST
from acc_ace.survival.world_rules import Nature

COSTS = {"plain": 1, "safe": 1, "thicket": 1 + THICKET_COST}
"""Points of food and water for a step onto a terrain; onto others nobody goes."""

TRUST, BOLD = 0.5, 0.5
"""Weight from which a belief counts; boldness from which unknown creatures are suffered."""

CHOICE = 4
"""Sources of a nature among which a round chooses."""

NEAR, HANDY, REACH = 3, 4, 15
"""Steps: to a threat that is near; to what is taken in passing; to what is worth going for."""

MARGIN, LAST_CALL = 8, 2
"""Points that are kept in reserve on the way to a source; that are left for a last trial."""

SHORT, SEARCH, TOP_UP = 0.5, 0.4, 0.75
"""Shares of food or water: short; more with no source known and curiosity; not worth a step."""

SOUND, WHOLE, WEAK = 0.9, 0.75, 0.6
"""Shares of life: enough to risk some for nothing; for a need; too little."""

KEEP_OFF, CHASED, PENALTY = 1, 2, 2
"""Steps that a threat is expected to make, also if it approaches; points for each step nearer."""

TRIAL_RISK = 0.6
"""Chance of damage that is put on trying an unknown thing."""


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


class Belief(NamedTuple):
    """What a kind of thing or creature is held to be; None where nothing is known."""

    nature: Nature | Literal["hunter", "harmless"] | None
    weight: float = 1.0


Beliefs = Mapping[str, Belief]
"""Beliefs by kind of thing or creature; a missing one is unknown."""


class PlannedSteps(NamedTuple):
    """Steps such as 'move north', 'use cone' or 'wait', and what they are for."""

    steps: tuple[str, ...]
    objective: str
    risk: float
    watch: str


def plan_steps(
    outlook: Outlook, beliefs: Beliefs, *, most: int = MOST_STEPS, boldness: float = 0.5
) -> PlannedSteps:
    """At least one step, at most `most`.

    `boldness` 0 to 1: how early an unknown thing is tried and an unknown creature suffered.
    """
    moment = _Moment(outlook, beliefs, boldness)
    goal = next((goal for wish in _WISHES if (goal := wish(moment))), moment.refuge())
    steps = moment.steps(goal)
    if moment.is_threatened and steps[0] == "wait":
        goal = moment.refuge()
        steps = moment.steps(goal)
    watch = f"a creature within {NEAR} steps" if outlook.creatures else "what comes into sight"
    return PlannedSteps(steps[:most], goal.objective, moment.risk(goal), watch)


class _Goal(NamedTuple):
    """Where to go and for what; the thing to use there, and whether that is a trial."""

    objective: str
    cell: Cell
    kind: str = ""
    is_trial: bool = False


class _Way(NamedTuple):
    """The cheapest safe way to a cell: points and steps that it takes, and its last step."""

    cost: int
    time: int
    before: Cell
    direction: str


class _Source(NamedTuple):
    cost: int
    cell: Cell
    kind: str


class _Moment:
    """An outlook with what follows from it: threats, ways, and sources by nature."""

    def __init__(self, outlook: Outlook, beliefs: Beliefs, boldness: float) -> None:
        self.outlook, self.body, self.boldness = outlook, outlook.body, boldness
        body = outlook.body
        self.points = {Nature.WATER: body.water, Nature.FOOD: body.food}
        self.levels = {
            Nature.WATER: body.water / body.most_water,
            Nature.FOOD: body.food / body.most_food,
        }
        self._natures = {
            name: belief.nature for name, belief in beliefs.items() if belief.weight >= TRUST
        }
        suspects = {
            "hunter",
            None if boldness < BOLD or outlook.danger >= outlook.threshold else "",
        }
        self.threats = [
            cell for cell, kind in outlook.creatures.items() if self._natures.get(kind) in suspects
        ]
        self.ways, self._rim = self._explored()
        self._sources: dict[Nature | str | None, list[_Source]] = {}

    def nature(self, kind: str) -> Nature | str | None:
        """What a kind is believed to be."""
        return self._natures.get(kind)

    def sources(self, nature: Nature | None) -> list[_Source]:
        """Known things of a nature, the nearest first; None asks for the unknown."""
        if nature not in self._sources:
            known = [(kind, cell) for cell, kind in self.outlook.things.items()]
            known += [(kind, cell) for kind, cells in self.outlook.places.items() for cell in cells]
            self._sources[nature] = sorted(
                _Source(self.far(cell), cell, kind)
                for kind, cell in known
                if self.nature(kind) is nature
            )
        return self._sources[nature]

    def source(self, nature: Nature | None) -> _Source | None:
        """The nearest known thing of a nature."""
        return next(iter(self.sources(nature)), None)

    def far(self, cell: Cell) -> int:
        """Points that it takes to a cell, at least those where no way is in sight."""
        return self.ways[cell].cost if cell in self.ways else self._towards(cell)[0]

    def _towards(self, target: Cell) -> tuple[int, Cell]:
        """From where a target without a way in sight seems nearest, and the points that it takes.

        Ground out of sight is reached over the rim of what is seen.
        """
        south, east = target
        ends = self.ways if target in self.outlook.terrain else self._rim
        return min(
            (self.ways[cell].cost + abs(cell[0] - south) + abs(cell[1] - east), cell)
            for cell in ends
        )

    @property
    def is_threatened(self) -> bool:
        """Whether something that may bite is near."""
        return not self.outlook.is_safe and self._peril((0, 0)) <= NEAR

    @property
    def safe(self) -> Cell | None:
        """The nearest safe cell that is known."""
        if self.outlook.is_safe:
            return (0, 0)
        cells = [cell for cell, code in self.outlook.terrain.items() if code == "safe"]
        near = [cell for cell in cells if cell in self.ways]
        return min(near, key=lambda cell: (self.far(cell), cell), default=self.outlook.safe)

    def _peril(self, cell: Cell) -> int:
        """Steps of the nearest threat to a cell."""
        return min((_apart(cell, threat) for threat in self.threats), default=99)

    def _explored(self) -> tuple[dict[Cell, _Way], Collection[Cell]]:
        """The cheapest way to each cell in sight, and the cells beside ground out of sight.

        Where a threat may catch the body a step costs more.
        """
        terrain = self.outlook.terrain
        near = {
            (row + south, column + east): self._peril((row + south, column + east))
            for row, column in self.threats
            for south, east in _BESIDE_THREATS
        }
        prices = {cell: COSTS[code] for cell, code in terrain.items() if code in COSTS}
        found: dict[Cell, _Way] = {}
        rim: dict[Cell, None] = {}
        queue = [(0, 0, (0, 0), (0, 0), "")]
        while queue:
            cost, time, cell, before, direction = heappop(queue)
            if cell in found:
                continue
            found[cell] = _Way(cost, time, before, direction)
            time += 1
            for name, (south, east) in MOVES.items():
                beside = (cell[0] + south, cell[1] + east)
                price = prices.get(beside)
                if price is None or beside in found:
                    if beside not in terrain:
                        rim[cell] = None
                    continue
                if beside in near and terrain[beside] != "safe":
                    price += PENALTY * max(self._reach(time) - near[beside], 0)
                heappush(queue, (cost + price, time, beside, cell, name))
        return found, rim or found

    def _reach(self, time: int) -> int:
        """From how many steps a threat reaches the body by then; one that chases is quicker."""
        chased = (time + 1) // 2 if not self.outlook.is_night else time - time // 3
        return 1 + min(chased, CHASED if self.outlook.approaching else KEEP_OFF)

    def refuge(self) -> _Goal:
        """Where to be when nothing is to be done: away from threats, else in a safe area."""
        if not self.is_threatened:
            return _Goal("stay safe", self.safe or (0, 0))
        ends = [cell for cell, way in self.ways.items() if way.time <= MOST_STEPS]
        terrain = self.outlook.terrain
        best = max(
            ends,
            key=lambda cell: (
                terrain.get(cell) == "safe",
                self._peril(cell) - self.ways[cell].time,
                -self.ways[cell].cost,
                cell,
            ),
        )
        return _Goal("get away", best)

    def steps(self, goal: _Goal) -> tuple[str, ...]:
        """The steps to a goal, or as far as can be seen; at least one."""
        cell = goal.cell if goal.cell in self.ways else self._towards(goal.cell)[1]
        done = cell == goal.cell
        moves: list[str] = []
        while cell != (0, 0):
            moves.append(f"move {self.ways[cell].direction}")
            cell = self.ways[cell].before
        moves.reverse()
        if not done and moves:
            return tuple(moves)
        return (
            (*moves, f"use {goal.kind}") if goal.kind and done else (*moves, *["wait"] * MOST_STEPS)
        )

    def risk(self, goal: _Goal) -> float:
        """A rough chance of damage."""
        near = 1 / max(self._peril((0, 0)), 1) if self.threats else 0.0
        return round(max(near, TRIAL_RISK * goal.is_trial), 2)


def _need(moment: _Moment) -> _Goal | None:
    """Go for the water or food that is short; search or gamble where no source is known."""
    short = [nature for nature in moment.levels if _is_short(moment, nature)]
    known = [nature for nature in short if moment.source(nature)]
    pressing = [nature for nature in known if _slack(moment, nature) <= MARGIN]
    for nature in short:
        if nature not in known and not pressing:
            return _gamble(moment, nature) or _search(moment, nature)
    if not known:
        return None
    source = _first(moment, known)
    return _Goal(f"get {moment.nature(source.kind)}", source.cell, source.kind)


def _slack(moment: _Moment, nature: Nature) -> int:
    """Points that would be left at the nearest source."""
    source = moment.source(nature)
    return moment.points[nature] - (source.cost if source else 0)


def _is_short(moment: _Moment, nature: Nature) -> bool:
    source, level = moment.source(nature), moment.levels[nature]
    if source is None:
        return level <= SHORT + SEARCH * moment.outlook.exploration
    is_handy = source.cost <= HANDY and level <= TOP_UP
    return is_handy or level <= SHORT or _slack(moment, nature) <= MARGIN


def _first(moment: _Moment, natures: Sequence[Nature]) -> _Source:
    """The source to go to first: of the shortest round that comes in time to all.

    A step on such a round makes it shorter than any other, so the choice is kept without memory.
    """
    rounds = []
    for order in permutations(natures):
        for stops in product(*(moment.sources(nature)[:CHOICE] for nature in order)):
            cost, late, at = stops[0].cost, 0, stops[0].cell
            for nature, stop in zip(order, stops, strict=True):
                cost += _apart(at, stop.cell)
                late += max(cost - moment.points[nature], 0)
                at = stop.cell
            rounds.append((late, cost, stops[0]))
    return min(rounds)[2]


def _gamble(moment: _Moment, nature: Nature) -> _Goal | None:
    """Try the unknown out of need: early when bold and whole, at the last moment in any case."""
    unknown = moment.source(None)
    if unknown is None:
        return None
    life, points, level = moment.body.life, moment.points[nature], moment.levels[nature]
    is_dying = points <= unknown.cost and life + points <= unknown.cost + LAST_CALL
    is_bold = level < moment.boldness and life >= WHOLE * moment.body.most_life
    if not (is_dying or is_bold):
        return None
    return _Goal(f"try {unknown.kind} for {nature}", unknown.cell, unknown.kind, is_trial=True)


def _search(moment: _Moment, nature: Nature) -> _Goal | None:
    frontier = moment.outlook.frontier
    return _Goal(f"search for {nature}", frontier) if frontier else None


def _heal(moment: _Moment) -> _Goal | None:
    """Take a remedy, or rest where that heals."""
    body, safe = moment.body, moment.safe
    remedy = moment.source(Nature.REMEDY)
    if remedy and remedy.cost <= REACH and body.life <= WEAK * body.most_life:
        return _Goal("heal", remedy.cell, remedy.kind)
    is_fed = min(moment.levels.values()) >= FED
    is_weak = body.life <= (WHOLE if safe != (0, 0) else 0.99) * body.most_life
    return _Goal("rest", safe) if safe is not None and is_fed and is_weak else None


def _learn(moment: _Moment) -> _Goal | None:
    """Try what is unknown for its own sake, whole, fed, by day and with nobody around."""
    outlook, unknown, safe = moment.outlook, moment.source(None), moment.safe
    body, is_fed = moment.body, min(moment.levels.values()) >= SHORT
    is_well = is_fed and body.life >= SOUND * body.most_life
    if not (unknown and safe and is_well) or outlook.is_night or outlook.creatures:
        return None
    if unknown.cost > REACH * outlook.exploration:
        return None
    return _Goal(f"find out about {unknown.kind}", unknown.cell, unknown.kind, is_trial=True)


def _shelter(moment: _Moment) -> _Goal | None:
    """Spend the night in a safe area that is near."""
    safe = moment.safe
    if not moment.outlook.is_night or safe is None or moment.far(safe) > REACH:
        return None
    return _Goal("shelter for the night", safe)


def _explore(moment: _Moment) -> _Goal | None:
    """See new ground, the hungrier the less."""
    outlook = moment.outlook
    fed = min(moment.levels.values())
    if not outlook.frontier or not outlook.exploration or fed < 1 - outlook.exploration:
        return None
    return _Goal("explore", outlook.frontier)


_WISHES = (_need, _heal, _learn, _shelter, _explore)
"""What to do, the most pressing first."""


def _apart(cell: Cell, other: Cell) -> int:
    return abs(cell[0] - other[0]) + abs(cell[1] - other[1])


_BESIDE_THREATS = [
    (south, east)
    for south, east in product(range(-CHASED, CHASED + 1), repeat=2)
    if _apart((south, east), (0, 0)) <= CHASED
]
"""Cells from which a threat may reach the body."""
