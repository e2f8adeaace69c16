"""Rewards of a tick on one scoreboard, and how much exploring is worth next."""

from collections.abc import Mapping
from typing import Final

from acc_ace.schemas.survival import EXPLORATION_BOUNDS, Body, Scoreboard, StepRecord
from acc_ace.survival.fear import WINDOW, is_damaged
from acc_ace.survival.planner import Outlook

SURVIVAL: Final = 0.1
"""For each step lived."""

LIFE: Final = 0.1
"""A step, by the share of life that is left."""

RESOURCES: Final = 0.1
"""A step, by the smaller share of food and water."""

SAFE: Final = 0.05
"""A step that ends in the safe area."""

DANGER_AREA: Final = -0.2
"""A step, by the danger estimate where it ends."""

DAMAGE: Final = -0.25
"""A point of life lost, to whatever."""

DEATH: Final = -10.0

DEFENCE: Final = 0.3
"""What WINDOW steps at half danger cost: danger is not worth seeking for it."""

FALSE_ALARM: Final = -0.1

TREND_TICKS: Final = 20
"""Moving averages are exponential, with the weight 2 / (TREND_TICKS + 1) on the newest tick."""

_EXTERNAL: Final = ("survival", "life", "resources", "safe area", "damage", "danger area", "death")
_INTRINSIC: Final = ("information", "defence", "false alarm")
_LOW, _WELL, _DULL = 0.25, 0.6, 0.05


class RewardSynthesizer:
    """Adds up the rewards of an episode step by step; `close_tick` gives a tick's scoreboard.

    External parts are sums over steps of the constants above. Intrinsic are `information`, the
    bits gained times the exploration coefficient, and what became of an alarm: a step whose
    danger is at the threshold or above raises one unless one is open, and WINDOW steps without
    damage settle it, as `defence` when a danger was in reach, else as `false alarm`. Damage ends
    it without either.
    """

    def __init__(self) -> None:
        self._parts = dict.fromkeys((*_EXTERNAL, *_INTRINSIC), 0.0)
        self._averages: dict[str, float] = {}
        self._score = 0.0
        self._bits, self._recent_bits = 0.0, 0.0
        self._alarm: int | None = None
        self._in_reach = False
        self._surprises = 0

    def step(
        self,
        record: StepRecord,
        after: Outlook,
        *,
        bits: float = 0.0,
        in_reach: bool = False,
        died: bool = False,
    ) -> float:
        """Add a step, also one that was not made; return what it brought.

        `after` is the moment after it, with the threshold and the exploration coefficient in
        force. `in_reach` is whether a danger was near before it.
        """
        if record.danger >= after.threshold and self._alarm is None:
            self._alarm, self._in_reach = 0, False
        self._in_reach |= in_reach
        if not record.done:
            return 0.0
        self._bits += bits
        self._surprises += is_damaged(record) and self._alarm is None
        parts = {
            **_external(record, after, died=died),
            "information": bits * after.exploration,
            **self._settled(record),
        }
        for part, value in parts.items():
            self._parts[part] += value
        return sum(parts.values())

    def close_tick(self, body: Body) -> Scoreboard:
        """The scoreboard of the steps since the last call; `body` is the one after them."""
        external = {part: round(self._parts[part], 6) for part in _EXTERNAL}
        intrinsic = {part: round(self._parts[part], 6) for part in _INTRINSIC}
        sums = {"external": sum(external.values()), "intrinsic": sum(intrinsic.values())}
        total = sum(sums.values())
        self._score += total
        for name, value in {"total": total, **sums, **external, **intrinsic}.items():
            self._averages[name] = _moved(self._averages.get(name, value), value)
        self._recent_bits = _moved(self._recent_bits, self._bits)
        board = Scoreboard(
            external=external,
            intrinsic=intrinsic,
            total=total,
            averages=dict(self._averages),
            score=self._score,
            warnings=self._warnings(body),
        )
        self._parts = dict.fromkeys(self._parts, 0.0)
        self._bits, self._surprises = 0.0, 0
        return board

    def exploration(self, setting: float, body: Body) -> float:
        """The exploration coefficient of the next tick.

        c = setting · min(1, 2 m) · (1 + 1 / (1 + 10 b)), within EXPLORATION_BOUNDS, where m is
        the smallest share of life, food and water, and b the moving average of bits per tick.
        Whoever is well and learns nothing new explores up to twice the setting; below half a
        body it falls, to 0 at the end; a setting of 0 stays 0.
        """
        need = min(1.0, 2 * min(shares(body).values()))
        novelty = 1 + 1 / (1 + 10 * self._recent_bits)
        least, most = EXPLORATION_BOUNDS
        return min(most, max(least, setting * need * novelty))

    def _settled(self, record: StepRecord) -> Mapping[str, float]:
        if self._alarm is None:
            return {}
        self._alarm += 1
        if is_damaged(record):
            self._alarm = None
        elif self._alarm == WINDOW:
            self._alarm = None
            return {"defence": DEFENCE} if self._in_reach else {"false alarm": FALSE_ALARM}
        return {}

    def _warnings(self, body: Body) -> tuple[str, ...]:
        low = [name for name, share in shares(body).items() if share <= _LOW]
        averages, parts = self._averages, self._parts
        is_well = min(shares(body).values()) >= _WELL
        found = {
            f"{' and '.join(low)} is low: survival comes before exploring": bool(low),
            "damage came without an alarm: the threshold may be too high": self._surprises > 0,
            "false alarms cost more than defence brings: the threshold may be too low": (
                parts["false alarm"] < 0 and averages["false alarm"] + averages["defence"] < 0
            ),
            "little is learnt while the body is well: exploring costs little now": (
                is_well and self._recent_bits < _DULL
            ),
        }
        return tuple(text for text, is_true in found.items() if is_true)


def shares(body: Body) -> dict[str, float]:
    """Life, food and water as shares of their maxima."""
    return {
        "life": body.life / body.most_life,
        "food": body.food / body.most_food,
        "water": body.water / body.most_water,
    }


def _external(record: StepRecord, after: Outlook, *, died: bool) -> dict[str, float]:
    share = shares(after.body)
    return {
        "survival": SURVIVAL * (not died),
        "life": LIFE * share["life"],
        "resources": RESOURCES * min(share["food"], share["water"]),
        "safe area": SAFE * after.is_safe,
        "damage": -DAMAGE * min(0, record.life),
        "danger area": DANGER_AREA * after.danger,
        "death": DEATH * died,
    }


def _moved(average: float, value: float) -> float:
    return average + (value - average) * 2 / (TREND_TICKS + 1)
