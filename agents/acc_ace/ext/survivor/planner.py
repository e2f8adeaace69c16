"""Plan the next steps from what is known of a moment: the one planning code of all survivors.

Pure and deterministic. It knows the laws of the world (distances, reach of a hunter, what a step
costs), but of natures nothing beyond the beliefs that it is given.
"""

from collections.abc import Collection, Mapping
from itertools import permutations, product
from typing import Literal, NamedTuple

from acc_ace.ext.survivor.exploration import Outlook, Ways
from acc_ace.ext.survivor.survival import MOST_STEPS, Body, Cell
from acc_ace.ext.survivor.world_rules import FED, KINDS, Nature, apart

TRUST = 0.5
"""Weight from which a belief counts."""

CHOICE = 4
"""Sources of a nature among which a round chooses."""

NEAR, HANDY, REACH = 3, 4, 15
"""Steps: to a threat that is near; to what is taken in passing; to what is worth going for."""

MARGIN, LAST_CALL = 8, 1
"""Points that are kept in reserve on the way to a source; that are left for a last trial."""

SHORT, SEARCH, TOP_UP = 0.5, 0.4, 0.75
"""Shares of food or water: short; more with no source known and curiosity; not worth a step."""

WHOLE, WEAK = 0.75, 0.6
"""Shares of life: enough; too little."""

SPENT, NEEDED = 0.3, 0.6
"""Share of life that a trial out of need takes, and so much more as food or water is left."""

PRICE, LEAST = 0.3, 0.01
"""Bits that P(harm) is weighed with at full life; bits a step that are worth going for."""

TRIAL_RISK = 0.6
"""Chance of damage that is put on trying an unknown thing."""

Stance = Nature | Literal["hunter", "harmless"]
"""What a kind of thing or creature may be believed to be."""


class Belief(NamedTuple):
    """What a kind is believed to be, None where nothing is known, and the bullet that says so."""

    nature: Stance | None
    weight: float = 1.0
    bullet_id: str = ""
    is_of_now: bool = True
    """Whether it is said of this season, or of all; not of another one."""


Beliefs = Mapping[str, Belief]
"""Beliefs by kind of thing or creature; a missing one is unknown."""


class PlannedSteps(NamedTuple):
    """Steps such as 'move north', 'use cone' or 'wait', and what they are for."""

    steps: tuple[str, ...]
    objective: str
    risk: float
    watch: str


def plan_steps(outlook: Outlook, beliefs: Beliefs, *, most: int = MOST_STEPS) -> PlannedSteps:
    """At least one step, at most `most`."""
    moment = _Moment(outlook, beliefs)
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


class _Source(NamedTuple):
    cost: int
    cell: Cell
    kind: str


class _Moment:
    """An outlook with what follows from it: threats, ways, and sources by nature."""

    def __init__(self, outlook: Outlook, beliefs: Beliefs) -> None:
        self.outlook, self.body = outlook, outlook.body
        self.points = {Nature.WATER: self.body.water, Nature.FOOD: self.body.food}
        self.levels = {nature: shares(self.body)[nature] for nature in self.points}
        self._natures = {
            name: belief.nature for name, belief in beliefs.items() if belief.weight >= TRUST
        }
        self.doubted = {name for name, belief in beliefs.items() if not belief.is_of_now}
        # Unknown creatures are suffered below the threshold.
        feared = {"hunter", *([None] if outlook.danger >= outlook.threshold else [])}
        creatures = outlook.creatures.items()
        threats = [cell for cell, kind in creatures if self.nature(kind) in feared]
        self.ways = Ways(outlook, threats)
        self.is_threatened = not outlook.is_safe and self.ways.peril((0, 0)) <= NEAR
        self.safe = self._safe()
        self._sources: dict[Stance | None, list[_Source]] = {}

    def _safe(self) -> Cell | None:
        """The nearest safe cell that is known."""
        outlook, ways = self.outlook, self.ways.found
        if outlook.is_safe:
            return (0, 0)
        seen = [cell for cell, code in outlook.terrain.items() if code == "safe" and cell in ways]
        return min(seen, key=lambda cell: (ways[cell].cost, cell), default=outlook.safe)

    def nature(self, kind: str) -> Stance | None:
        """What a kind is believed to be."""
        return self._natures.get(kind)

    def sources(self, nature: Stance | None) -> list[_Source]:
        """Known things of a nature, the nearest first; None asks for the unknown."""
        if nature not in self._sources:
            known = [(kind, cell) for cell, kind in self.outlook.things.items()]
            known += [(kind, cell) for kind, cells in self.outlook.places.items() for cell in cells]
            self._sources[nature] = sorted(
                _Source(self.ways.cost(cell), cell, kind)
                for kind, cell in known
                if self.nature(kind) == nature
            )
        return self._sources[nature]

    def source(self, nature: Stance | None, of: Collection[str] = KINDS) -> _Source | None:
        """The nearest known thing of a nature, of some kinds alone."""
        return next((source for source in self.sources(nature) if source.kind in of), None)

    def is_surely_danger(self, kind: str) -> bool:
        """Whether a kind is believed to be a danger in this season."""
        return self.nature(kind) is Nature.DANGER and kind not in self.doubted

    def slack(self, nature: Nature) -> int:
        """Points of food or water that would be left at the nearest source."""
        source = self.source(nature)
        return self.points[nature] - (source.cost if source else 0)

    def has_room(self, nature: Nature) -> bool:
        """Whether a known source is worth its steps; a step away from it never makes it so."""
        source, (points, most) = self.source(nature), self.body.points[nature]
        return source is not None and points + source.cost <= TOP_UP * most

    def refuge(self) -> _Goal:
        """Where to be when nothing is to be done: away from threats, else in a safe area."""
        if self.is_threatened:
            return _Goal("get away", self.ways.refuge(MOST_STEPS))
        return _Goal("stay safe", self.safe or (0, 0))

    def steps(self, goal: _Goal) -> tuple[str, ...]:
        """The steps to a goal, or as far as can be seen; at least one."""
        moves, reached = self.ways.moves(goal.cell)
        if reached:
            moves += [f"use {goal.kind}"] if goal.kind else ["wait"] * MOST_STEPS
        return tuple(moves) or ("wait",)

    def risk(self, goal: _Goal) -> float:
        """A rough chance of damage."""
        near = 1 / max(self.ways.peril((0, 0)), 1) if self.is_threatened else 0.0
        return round(max(near, TRIAL_RISK * goal.is_trial), 2)


def _need(moment: _Moment) -> _Goal | None:
    """Go for water or food that is short, by a round of all that is not full; search or gamble."""
    short = [nature for nature in moment.levels if _is_short(moment, nature)]
    known = [nature for nature in short if moment.source(nature)]
    for nature in short:
        if nature not in known and all(moment.slack(other) > MARGIN for other in known):
            frontier = moment.outlook.frontier
            search = _Goal(f"search for {nature}", frontier) if frontier else None
            return _gamble(moment, nature) or search
    if not known:
        return None
    source = _first(moment, {*known, *filter(moment.has_room, moment.levels)})
    return _Goal(f"get {moment.nature(source.kind)}", source.cell, source.kind)


def _is_short(moment: _Moment, nature: Nature) -> bool:
    source, level = moment.source(nature), moment.levels[nature]
    if source is None:
        return level <= SHORT + SEARCH * moment.outlook.exploration
    is_short = level <= SHORT or moment.slack(nature) <= MARGIN
    return is_short or (source.cost <= HANDY and moment.has_room(nature))


def _first(moment: _Moment, natures: Collection[Nature]) -> _Source:
    """The source to go to first: of the shortest round that comes in time to all.

    A step on such a round makes it shorter than any other, so the choice is kept without memory.
    """
    rounds = []
    for order in permutations(natures):
        for stops in product(*(moment.sources(nature)[:CHOICE] for nature in order)):
            cost, late, at = stops[0].cost, 0, stops[0].cell
            for nature, stop in zip(order, stops, strict=True):
                cost += apart(at, stop.cell)
                late += max(cost - moment.points[nature], 0)
                at = stop.cell
            rounds.append((late, cost, stops[0]))
    return min(rounds)[2]


def _gamble(moment: _Moment, nature: Nature) -> _Goal | None:
    """Try the unknown out of need: early when whole, at the last moment in any case."""
    # What is said to be a danger, but not of this season, comes last.
    unknown = moment.source(None) or moment.source(Nature.DANGER, moment.doubted)
    if unknown is None:
        return None
    life, points = moment.body.life, moment.points[nature]
    is_dying = points <= unknown.cost and life + points <= unknown.cost + LAST_CALL
    # The greater the need, the less life is enough for a trial.
    enough = SPENT + NEEDED * moment.levels[nature]
    if not is_dying and life / moment.body.most_life < enough:
        return None
    return _Goal(f"try {unknown.kind} for {nature}", unknown.cell, unknown.kind, is_trial=True)


def _heal(moment: _Moment) -> _Goal | None:
    """Take a remedy, or rest where that heals."""
    body, safe, remedy = moment.body, moment.safe, moment.source(Nature.REMEDY)
    if remedy and remedy.cost <= REACH and body.life <= WEAK * body.most_life:
        return _Goal("heal", remedy.cell, remedy.kind)
    is_fed = min(moment.levels.values()) >= FED
    is_weak = body.life <= (WHOLE if safe != (0, 0) else 0.99) * body.most_life
    return _Goal("rest", safe) if safe is not None and is_fed and is_weak else None


def _shelter(moment: _Moment) -> _Goal | None:
    """Spend the night in a safe area that is near."""
    safe = moment.safe
    if not moment.outlook.is_night or safe is None or moment.ways.cost(safe) > REACH:
        return None
    return _Goal("shelter for the night", safe)


def _wonder(moment: _Moment) -> _Goal | None:
    """Go where most is to be learnt a step: ground that was not seen, or a trial of a kind.

    Worth is (c · bits - PRICE · P(harm) / life²) / steps, with c the exploration coefficient, which
    falls with need, and life as a share.
    """
    outlook, life = moment.outlook, moment.body.life / moment.body.most_life
    if moment.is_threatened or outlook.is_night or not life:
        return None
    worths = list[tuple[float, _Goal]]()
    if outlook.frontier:
        gain = outlook.exploration * outlook.frontier_bits
        goal = _Goal("explore", outlook.frontier)
        worths.append((gain / (1 + moment.ways.cost(outlook.frontier)), goal))
    for kind, (bits, harm) in outlook.prospects.items():
        source = moment.source(moment.nature(kind), {kind})
        if source and not moment.is_surely_danger(kind):
            gain = outlook.exploration * bits - PRICE * harm / life**2
            goal = _Goal(f"find out about {kind}", source.cell, kind, is_trial=True)
            worths.append((gain / (1 + source.cost), goal))
    worth, best = max(worths, default=(0.0, None))
    return best if worth >= LEAST else None


_WISHES = (_need, _heal, _shelter, _wonder)
"""What to do, the most pressing first."""


def shares(body: Body) -> dict[str, float]:
    """Life, food and water as shares of their maxima."""
    return {part: has / most for part, (has, most) in body.points.items()}
