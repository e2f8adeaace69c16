"""Fear, the probability of damage soon, and curiosity, the bits gained: both from what was lived.

Nothing is given beforehand: fear begins at a base rate, and every outcome of a kind as likely as
every other. Both are deterministic: the same stream of moments and steps rebuilds the same state,
which a later life takes over as a text. A step is 'move north', 'use cone' or 'wait'; the moment is
the one before it.
"""

import json
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from math import log, log2, tanh
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from acc_ace.ext.survivor.exploration import CELL_BITS, Outlook, Prospect
from acc_ace.ext.survivor.planner import Beliefs
from acc_ace.ext.survivor.survival import Cell, StepRecord
from acc_ace.ext.survivor.world import Touch
from acc_ace.ext.survivor.world_rules import (
    CREATURES,
    GAINS,
    MOVES,
    Nature,
    apart,
    beside,
    target_of,
    used_in,
)

WINDOW: Final = 3
"""Steps within which fear predicts damage."""

BASE_RATE: Final = 0.1
"""Fear before anything was learnt."""

SPREAD: Final = 30.0
"""Variance of each weight, but 1 of the constant one, before anything was learnt.

The weights are learned from little, and one damage does not raise fear everywhere."""

MOST_PROSPECTS: Final = 4
"""Kinds whose prospects an outlook has."""

FEATURES: Final = (
    *("always", "use", "use soon", "hunter near", "hunter near by night", "creature near"),
    *("onto lava", "lava beside", "safe", "life lost", "hurt near"),
)
"""What fear looks at; each is from 0 to 1."""

_OUTCOMES: Final[tuple[Nature | None, ...]] = (*Nature, None)
_THING_FAR, _CREATURE_FAR = 2, 5
"""Steps from which on a thing and a creature count for nothing."""

FEARED: Final = 0.3
"""Harm from which a kind in sight is a danger."""

_BELIEF_TRIALS: Final = 4
"""A belief of full weight counts like as many outcomes."""


class Danger(NamedTuple):
    """A kind in sight and the probability that meeting it does harm."""

    kind: str
    cell: Cell
    harm: float
    is_near: bool


class Experience:
    """The outcomes of each kind by season: one dictionary for fear and curiosity.

    P(o | kind, season) = (n_so + P(o | kind)) / (n_s + 1), P(o | kind) = (n_o + P(o)) / (n + 1):
    what is not known of a season is expected as in the others, and what is not known of a kind as
    of the kinds met so far, P(o) = (kinds that did o most + 1/K) / (kinds + 1), K = 5 outcomes.
    """

    def __init__(self) -> None:
        self.counts: defaultdict[tuple[str, int], Counter[Nature | None]] = defaultdict(Counter)
        self._kinds: defaultdict[str, Counter[Nature | None]] = defaultdict(Counter)
        self._expected: dict[tuple[str, int], dict[Nature | None, float]] = {}

    def count(self, kind: str, season: int, outcome: Nature | None, times: int = 1) -> None:
        """Count an outcome of meeting a kind in a season."""
        self.counts[kind, season][outcome] += times
        self._kinds[kind][outcome] += times
        self._expected.clear()

    def expected(self, kind: str, season: int) -> dict[Nature | None, float]:
        """P of each outcome of meeting a kind in a season."""
        if (kind, season) not in self._expected:
            self._expected[kind, season] = self._of(kind, season)
        return self._expected[kind, season]

    def _of(self, kind: str, season: int) -> dict[Nature | None, float]:
        alike = [
            counts
            for name, counts in self._kinds.items()
            if (name in CREATURES) == (kind in CREATURES) and name != kind
        ]
        others = Counter(max(_OUTCOMES, key=lambda each: counts[each]) for counts in alike)
        expected = {each: 1 / len(_OUTCOMES) for each in _OUTCOMES}
        of_kind, of_season = self._kinds.get(kind, Counter()), self.counts.get((kind, season))
        for counts in (others, of_kind, of_season or Counter()):
            weight = counts.total() + 1
            expected = {each: (counts[each] + p) / weight for each, p in expected.items()}
        return expected

    def bits(self, kind: str, season: int) -> float:
        """Bits that meeting a kind in a season is expected to bring."""
        trials = self.counts.get((kind, season), Counter()).total() + 1
        return sum(p * _gain(p, trials) for p in self.expected(kind, season).values())

    def _gained(self, kind: str, season: int, outcome: Nature | None) -> float:
        """Count an outcome; returns the bits that it brought."""
        trials = self.counts[kind, season].total() + 1
        bits = _gain(self.expected(kind, season)[outcome], trials)
        self.count(kind, season, outcome)
        return bits

    @property
    def kinds_known(self) -> frozenset[str]:
        """Kinds of which some outcome was more than nothing."""
        met = self.counts.items()
        return frozenset(kind for (kind, _), counts in met if counts.keys() - {None})

    def observe(self, outlook: Outlook, record: StepRecord, new_cells: int) -> float:
        """Bits gained by a step: Σ D(P after ‖ P before) + CELL_BITS · newly seen cells.

        The sum runs over the outcomes seen; D is the Kullback-Leibler divergence in bits.
        """
        results = outcomes(outlook, record)
        bits = sum(self._gained(kind, outlook.season, got) for kind, got in results)
        return bits + CELL_BITS * new_cells

    def watched(self, touch: Touch, season: int) -> None:
        """Take in what somebody else's use of a thing showed."""
        effect = next(nature for part, nature in GAINS.items() if getattr(touch, part) > 0)
        self.count(touch.kind, season, effect)

    def prospects(self, outlook: Outlook) -> dict[str, Prospect]:
        """Of the kinds of things at hand those that promise most, at most MOST_PROSPECTS."""
        kinds, season = {*outlook.things.values(), *outlook.places}, outlook.season
        promises = {
            kind: Prospect(
                round(self.bits(kind, season), 2),
                round(self.expected(kind, season)[Nature.DANGER], 2),
            )
            for kind in sorted(kinds)
        }
        best = sorted(promises, key=lambda kind: -promises[kind].bits)[:MOST_PROSPECTS]
        return {kind: promises[kind] for kind in best}


def _gain(expected: float, trials: int) -> float:
    """D(P after ‖ P before) in bits, for an outcome that was expected with that P.

    Every other outcome shrinks by the same factor.
    """
    shrink = trials / (trials + 1)
    after = (expected * trials + 1) / (trials + 1)
    return after * log2(after / expected) + (1 - after) * log2(shrink)


class Fear:
    """P(damage by a thing, a creature or the ground within WINDOW steps): σ(w·x).

    x are the FEATURES of a moment and the step intended. Logistic regression, learned online by
    the recursive Laplace approximation: with p = σ(w·x) and k = Sx / (1 + p(1-p) xᵀSx),
    w ← w + k (y - p) and S ← S - p(1-p) k (Sx)ᵀ, from S = diag(1, SPREAD, …). y is 1 for a window
    with damage; a window with an evasion, which may have made it harmless, teaches nothing.
    The harm of a kind is what `Experience` expects; a belief counts like _BELIEF_TRIALS more.
    """

    def __init__(self, experience: Experience | None = None) -> None:
        self.experience = experience or Experience()
        self.weights: NDArray[np.float64] = np.zeros(len(FEATURES))
        self.weights[0] = log(BASE_RATE / (1 - BASE_RATE))
        self._spread = np.diag([1.0, *[SPREAD] * (len(FEATURES) - 1)])
        self._open: deque[NDArray[np.float64]] = deque()

    @classmethod
    def of(cls, text: str) -> Self:
        """The state that `text()` gave; that of a newborn for '' and for other FEATURES."""
        fear, state = cls(), json.loads(text or "{}")
        if state.get("features") == list(FEATURES):
            fear.weights = np.array(state["weights"])
            fear._spread = np.array(state["spread"])
            for kind, season, outcome, count in state["seen"]:
                fear.experience.count(kind, season, Nature(outcome) if outcome else None, count)
        return fear

    def text(self) -> str:
        """All that a later life takes over, as JSON."""
        counts = [
            (*met, outcome or "", count)
            for met, by_outcome in self.experience.counts.items()
            for outcome, count in by_outcome.items()
        ]
        spread = [[float(f"{each:.6g}") for each in row] for row in self._spread]
        weights = [float(f"{each:.6g}") for each in self.weights]
        state = {"features": FEATURES, "weights": weights, "spread": spread, "seen": counts}
        return json.dumps(state)

    def estimate(self, outlook: Outlook, step: str, beliefs: Beliefs | None = None) -> float:
        """P(damage within WINDOW steps), 0 to 1, when `step` is made at this moment."""
        return _sigmoid(float(self.weights @ self._features(outlook, step, beliefs or {})))

    def observe(self, outlook: Outlook, record: StepRecord) -> None:
        """Learn from a step that was made; one that was not made teaches nothing.

        Its outcomes are `Experience`'s to count, afterwards.
        """
        if not record.done:
            return
        # Beliefs are left out, so that logs and playbook are not needed to rebuild the state.
        features = self._features(outlook, record.done, {})
        if record.status == "evaded":
            self._open.clear()
            return
        self._open.append(features)
        if is_damaged(record):
            for window in self._open:
                self._learn(window, harmed=True)
            self._open.clear()
        elif len(self._open) == WINDOW:
            self._learn(self._open.popleft(), harmed=False)

    def harm(self, kind: str, season: int, beliefs: Beliefs | None = None) -> float:
        """P(meeting the kind in a season does harm)."""
        belief = (beliefs or {}).get(kind)
        weight = _BELIEF_TRIALS * belief.weight if belief and belief.nature else 0.0
        bad = bool(belief and belief.nature in (Nature.DANGER, "hunter"))
        return (self.experience.expected(kind, season)[Nature.DANGER] + weight * bad) / (1 + weight)

    def dangers(self, outlook: Outlook, beliefs: Beliefs | None = None) -> tuple[Danger, ...]:
        """Kinds in sight that are expected to harm, where nearest; most pressing first.

        Near is a thing within a step and a creature that comes nearer within WINDOW steps.
        """
        met = [(cell, kind, 1) for cell, kind in outlook.things.items()]
        met += [
            (cell, kind, WINDOW if cell in outlook.approaching else 1)
            for cell, kind in outlook.creatures.items()
        ]
        by_name: dict[str, Danger] = {}
        for cell, kind, reach in sorted(met, key=lambda each: (apart(each[0]), each)):
            harm = self.harm(kind, outlook.season, beliefs)
            if harm > FEARED and kind not in by_name:
                by_name[kind] = Danger(kind, cell, harm, apart(cell) <= reach)
        return tuple(sorted(by_name.values(), key=lambda each: (not each.is_near, -each.harm)))

    def _learn(self, features: NDArray[np.float64], *, harmed: bool) -> None:
        p = _sigmoid(float(self.weights @ features))
        spread = self._spread @ features
        gain = spread / (1 + p * (1 - p) * (features @ spread))
        self.weights = self.weights + gain * (harmed - p)
        self._spread = self._spread - p * (1 - p) * np.outer(gain, spread)

    def _features(self, outlook: Outlook, step: str, beliefs: Beliefs) -> NDArray[np.float64]:
        target = target_of(step)
        used, season = used_in(step), outlook.season
        use = self.harm(used, season, beliefs) if used else 0.0
        soon = max(
            (
                self.harm(kind, season, beliefs) * _nearness(cell, target, _THING_FAR)
                for cell, kind in outlook.things.items()
                if not (use and cell == (0, 0))
            ),
            default=0.0,
        )
        creatures = {
            cell: self.harm(kind, season, beliefs) * _nearness(cell, target, _CREATURE_FAR)
            for cell, kind in outlook.creatures.items()
        }
        hunter = max((creatures[cell] for cell in outlook.approaching), default=0.0)
        around = [outlook.terrain.get(beside(target, way)) for way in MOVES]
        return np.array(
            [
                *(1.0, use, soon, hunter, hunter * outlook.is_night),
                max(creatures.values(), default=0.0),
                *(outlook.terrain.get(target) == "lava", around.count("lava") / len(MOVES)),
                outlook.is_safe or outlook.terrain.get(target) == "safe",
                1 - outlook.body.life / outlook.body.most_life,
                max((_nearness(cell, target, _THING_FAR) for cell in outlook.hurt), default=0.0),
            ],
            dtype=np.float64,
        )


def outcomes(outlook: Outlook, record: StepRecord) -> Iterator[tuple[str, Nature | None]]:
    """What a step showed of the thing that was used and of each kind of creature beside it."""
    if not record.done:
        return
    if kind := used_in(record.done):
        yield kind, effect_of(record)
    target = target_of(record.done)
    close = {kind for cell, kind in outlook.creatures.items() if apart(cell, target) <= 1}
    for kind in sorted(close | ({record.cause} & set(outlook.creatures.values()))):
        yield kind, Nature.DANGER if kind == record.cause and record.life < 0 else None


def effect_of(record: StepRecord) -> Nature | None:
    """The nature of the thing used in a step, by what it did; None when nothing changed."""
    caused = record.cause == used_in(record.done)
    if caused and record.life < 0:
        return Nature.DANGER
    gained = (nature for part, nature in GAINS.items() if getattr(record, part) > 0)
    return next((effect for effect in gained if caused or effect is not Nature.REMEDY), None)


def is_damaged(record: StepRecord) -> bool:
    """Whether a thing, a creature or the ground took life; hunger and thirst have no cause."""
    return record.life < 0 and bool(record.cause)


def _nearness(cell: Cell, target: Cell, far: int) -> float:
    return max(0.0, 1 - apart(cell, target) / far)


def _sigmoid(score: float) -> float:
    return (1 + tanh(score / 2)) / 2
