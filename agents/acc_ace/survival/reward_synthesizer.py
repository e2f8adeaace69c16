"""Rewards of a tick on one scoreboard, and how much exploring is worth next."""

from typing import Final, Literal

from acc_ace.schemas.survival import EXPLORATION_BOUNDS, Body, Scoreboard, StepRecord
from acc_ace.survival.exploration import Outlook
from acc_ace.survival.fear import WINDOW, is_damaged

EXTERNAL: Final = {
    "survival": 0.1,  # a step lived
    "life": 0.1,  # a step, times the share of life that is left
    "resources": 0.1,  # a step, times the smaller share of food and water
    "safe area": 0.05,  # a step that ends there
    "damage": -0.25,  # a point of life lost, to whatever
    "danger area": -0.2,  # a step, times the danger estimate where it ends
    "death": -10.0,
}
INTRINSIC: Final = {
    "information": 1.0,  # a bit, times the exploration coefficient
    # What WINDOW steps at half danger cost: danger is not worth seeking for it.
    "defence": 0.3,
    "false alarm": -0.1,
}
TREND_TICKS: Final = 20
"""Moving averages are exponential, with the weight 2 / (TREND_TICKS + 1) on the newest tick."""

_PARTS: Final = {**EXTERNAL, **INTRINSIC}
_LOW, _WELL, _DULL = 0.25, 0.6, 0.05


class RewardSynthesizer:
    """Adds up the rewards of an episode step by step; `close_tick` gives a tick's scoreboard.

    A part is its weight times its measure. A step whose danger is at the threshold or above
    raises an alarm, unless one is open; WINDOW steps without damage settle it, as a defence when
    a danger was in reach, else as a false alarm; damage ends it without either.
    """

    def __init__(self) -> None:
        self._parts = dict.fromkeys(_PARTS, 0.0)
        self._averages: dict[str, float] = {}
        self._score = self._bits = self._recent_bits = 0.0
        self._alarm: int | None = None
        self._in_reach = self._surprised = False

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
        self._surprised |= is_damaged(record) and self._alarm is None
        share, settled = shares(after.body), self._settled(record)
        measures = {
            "survival": not died,
            "life": share["life"],
            "resources": min(share["food"], share["water"]),
            "safe area": after.is_safe,
            "damage": max(0, -record.life),
            "danger area": after.danger,
            "death": died,
            "information": bits * after.exploration,
            "defence": settled == "defence",
            "false alarm": settled == "false alarm",
        }
        gained = {part: weight * measures[part] for part, weight in _PARTS.items()}
        for part, value in gained.items():
            self._parts[part] += value
        return sum(gained.values())

    def close_tick(self, body: Body) -> Scoreboard:
        """The scoreboard of the steps since the last call; `body` is the one after them."""
        external, intrinsic = (
            {part: self._parts[part] for part in parts} for parts in (EXTERNAL, INTRINSIC)
        )
        sums = {"external": sum(external.values()), "intrinsic": sum(intrinsic.values())}
        total = sum(sums.values())
        self._score += total
        for name, value in {"total": total, **sums, **self._parts}.items():
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
        self._parts = dict.fromkeys(_PARTS, 0.0)
        self._bits, self._surprised = 0.0, False
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

    def _settled(self, record: StepRecord) -> Literal["defence", "false alarm"] | None:
        if self._alarm is None:
            return None
        self._alarm += 1
        damaged = is_damaged(record)
        if not damaged and self._alarm < WINDOW:
            return None
        self._alarm = None
        if damaged:
            return None
        return "defence" if self._in_reach else "false alarm"

    def _warnings(self, body: Body) -> tuple[str, ...]:
        share, averages = shares(body), self._averages
        low = [name for name, left in share.items() if left <= _LOW]
        found = {
            f"{' and '.join(low)} is low: survival comes before exploring": bool(low),
            "damage came without an alarm: the threshold may be too high": self._surprised,
            "false alarms cost more than defence brings: the threshold may be too low": (
                averages["false alarm"] + averages["defence"] < 0
            ),
            "little is learnt while the body is well: exploring costs little now": (
                min(share.values()) >= _WELL and self._recent_bits < _DULL
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


def _moved(average: float, value: float) -> float:
    return average + (value - average) * 2 / (TREND_TICKS + 1)
