"""Fear, the probability of damage soon, and curiosity, the bits gained: both from what was lived.

Nothing is given beforehand: fear begins at a base rate, and every kind as likely to harm as not.
Both are deterministic: the same stream of moments and steps rebuilds the same state. A step is
'move north', 'use cone' or 'wait'; the moment is the one before it.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from math import log, log2, tanh
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acc_ace.ext.survivor.exploration import Outlook
from acc_ace.ext.survivor.planner import Beliefs
from acc_ace.ext.survivor.survival import Cell, StepRecord
from acc_ace.ext.survivor.world_rules import GAINS, MOVES, Nature, apart, beside, target_of, used_in

WINDOW: Final = 3
"""Steps within which fear predicts damage."""

BASE_RATE: Final = 0.1
"""Fear before anything was learnt."""

SPREAD: Final = 30.0
"""Variance of each weight, but 1 of the constant one, before anything was learnt.

The weights are learned from little, and one damage does not raise fear everywhere."""

CELL_BITS: Final = 0.02
"""Bits that a newly seen cell counts for."""

FEATURES: Final = (
    *("always", "use", "use soon", "hunter near", "hunter near by night", "creature near"),
    *("onto lava", "lava beside", "safe", "life lost"),
)
"""What fear looks at; each is from 0 to 1."""

_OUTCOMES: Final = len(Nature) + 1
_THING_FAR, _CREATURE_FAR = 2, 5
"""Steps from which on a thing and a creature count for nothing."""

_BELIEF_TRIALS: Final = 4
"""A belief of full weight counts like as many outcomes."""


class Danger(NamedTuple):
    """A kind in sight and the probability that meeting it does harm."""

    kind: str
    cell: Cell
    harm: float
    is_near: bool


class Fear:
    """P(damage by a thing, a creature or the ground within WINDOW steps): σ(w·x).

    x are the FEATURES of a moment and the step intended. Logistic regression, learned online by
    the recursive Laplace approximation: with p = σ(w·x) and k = Sx / (1 + p(1-p) xᵀSx),
    w ← w + k (y - p) and S ← S - p(1-p) k (Sx)ᵀ, from S = diag(1, SPREAD, …). y is 1 for a window
    with damage; a window with an evasion, which may have made it harmless, teaches nothing.
    The harm of a kind is (harms + 1) / (outcomes + 2); a belief adds to both counts.
    """

    def __init__(self) -> None:
        self.weights: NDArray[np.float64] = np.zeros(len(FEATURES))
        self.weights[0] = log(BASE_RATE / (1 - BASE_RATE))
        self._spread = np.diag([1.0, *[SPREAD] * (len(FEATURES) - 1)])
        self._harms: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._open: deque[NDArray[np.float64]] = deque()

    def estimate(self, outlook: Outlook, step: str, beliefs: Beliefs | None = None) -> float:
        """P(damage within WINDOW steps), 0 to 1, when `step` is made at this moment."""
        return _sigmoid(float(self.weights @ self._features(outlook, step, beliefs or {})))

    def observe(self, outlook: Outlook, record: StepRecord) -> None:
        """Learn from a step that was made; one that was not made teaches nothing."""
        if not record.done:
            return
        # Beliefs are left out, so that logs and playbook are not needed to rebuild the state.
        features = self._features(outlook, record.done, {})
        for kind, outcome in outcomes(outlook, record):
            self._outcomes[kind] += 1
            self._harms[kind] += outcome is Nature.DANGER
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

    def harm(self, kind: str, beliefs: Beliefs | None = None) -> float:
        """P(meeting the kind does harm)."""
        belief = (beliefs or {}).get(kind)
        weight = _BELIEF_TRIALS * belief.weight if belief and belief.nature else 0.0
        bad = bool(belief and belief.nature in (Nature.DANGER, "hunter"))
        harms = self._harms[kind] + 1 + weight * bad
        return float(harms / (self._outcomes[kind] + 2 + weight))

    def dangers(self, outlook: Outlook, beliefs: Beliefs | None = None) -> tuple[Danger, ...]:
        """Kinds in sight that have harmed or are thought to, where nearest; most pressing first.

        Near is a thing within a step and a creature that comes nearer within WINDOW steps.
        """
        met = [(cell, kind, 1) for cell, kind in outlook.things.items()]
        met += [
            (cell, kind, WINDOW if cell in outlook.approaching else 1)
            for cell, kind in outlook.creatures.items()
        ]
        by_name: dict[str, Danger] = {}
        for cell, kind, reach in sorted(met, key=lambda each: (apart(each[0]), each)):
            harm = self.harm(kind, beliefs)
            if (harm > 0.5 or self._harms[kind]) and kind not in by_name:
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
        used = used_in(step)
        use = self.harm(used, beliefs) if used else 0.0
        soon = max(
            (
                self.harm(kind, beliefs) * _nearness(cell, target, _THING_FAR)
                for cell, kind in outlook.things.items()
                if not (use and cell == (0, 0))
            ),
            default=0.0,
        )
        creatures = {
            cell: self.harm(kind, beliefs) * _nearness(cell, target, _CREATURE_FAR)
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
            ],
            dtype=np.float64,
        )


class Curiosity:
    """Bits gained by a step: Σ D(posterior ‖ prior predictive) + CELL_BITS · newly seen cells.

    The sum runs over the outcomes seen. The predictive of a kind's outcome o is Dirichlet:
    P(o) = (n_o + 1/K) / (n + 1), K = 5 outcomes; D is the Kullback-Leibler divergence in bits
    between the predictive after and before the outcome.
    """

    def __init__(self) -> None:
        self._seen: defaultdict[str, Counter[Nature | None]] = defaultdict(Counter)

    @property
    def kinds_known(self) -> frozenset[str]:
        """Kinds of which some outcome was more than nothing."""
        return frozenset(kind for kind, seen in self._seen.items() if seen.keys() - {None})

    def observe(self, outlook: Outlook, record: StepRecord, new_cells: int) -> float:
        """Bits gained by a step."""
        bits = sum(self._gain(self._seen[kind], got) for kind, got in outcomes(outlook, record))
        return bits + CELL_BITS * new_cells

    def _gain(self, seen: Counter[Nature | None], outcome: Nature | None) -> float:
        total = seen.total()
        shrink = (total + 1) / (total + 2)
        before = (seen[outcome] + 1 / _OUTCOMES) / (total + 1)
        after = (seen[outcome] + 1 + 1 / _OUTCOMES) / (total + 2)
        seen[outcome] += 1
        # Every other outcome shrinks by the same factor.
        return float(after * log2(after / before) + (1 - after) * log2(shrink))


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
