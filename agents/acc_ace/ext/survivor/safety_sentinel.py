"""Safety Sentinel (component 11): hold plans and steps against rules, fear and bounds.

Every step passes the guard in block mode, as there is nobody to confirm. What a plan says of its
risk is corrected by the fear model. Fallback plans come from the planner.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from typing import Any, Final

from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.text.normalize import one_line
from acc_ace.ext.guard.calls import ActCall, Tool
from acc_ace.ext.guard.checks import Breach, breaches
from acc_ace.ext.survivor.exploration import Outlook
from acc_ace.ext.survivor.planner import Beliefs, PlannedSteps, plan_steps
from acc_ace.ext.survivor.survival import THRESHOLD_BOUNDS, Action, Alert, Plan
from acc_ace.ext.survivor.world_rules import MOVES, target_of

MOST_CHANGE: Final = 0.1
"""A plan moves the danger threshold at most this far."""

LETHAL: Final = 0.7
"""Share of a full life at or below which one danger may be the last."""

_CHARS, _ITEMS, _NUMBER = 400, 16, 10**9
_ROCK: Final = "rock"
_SYNONYMS: Final = {"move": "step go walk enter tread", "use": "touch take eat drink pick try"}
"""Words by which a rule may mean an action."""

WAIT: Final = "wait"


def plan_of(planned: PlannedSteps, **more: Any) -> Plan:  # noqa: ANN401 - fields of a Plan
    """The plan of planned steps, with more fields of it."""
    runs = ((step.partition(" "), len(list(run))) for step, run in groupby(planned.steps))
    actions = tuple(Action(type=act, target=target, times=n) for (act, _, target), n in runs)
    return Plan.model_validate({**planned._asdict(), "actions": actions, **more})


def moved_threshold(threshold: float, plan: Plan) -> float:
    """The danger threshold after a plan's change of it: by MOST_CHANGE, within its bounds."""
    change = plan.threshold_change or 0.0
    if not math.isfinite(change):
        return threshold
    least, most = THRESHOLD_BOUNDS
    return min(most, max(least, threshold + min(MOST_CHANGE, max(-MOST_CHANGE, change))))


@dataclass(frozen=True)
class SafetySentinel:
    """The guard of a tick: the rules in force at a time, and what is believed of the world.

    `at` is aware, in the user's zone. `beliefs` are those that its own steps are planned by. `acts`
    is what using a kind does beyond the world, in words.
    """

    pins: Sequence[ConstraintPin]
    at: datetime
    beliefs: Beliefs = field(default_factory=dict)
    acts: Mapping[str, str] = field(default_factory=dict)
    _verdicts: dict[tuple[str, ...], Breach | None] = field(default_factory=dict, repr=False)

    def conflict(self, step: str, outlook: Outlook) -> Breach | None:
        """The first rule that a step would break, by what it would use or move onto."""
        act, _, target = step.partition(" ")
        if act == "move":
            onto = outlook.terrain.get(target_of(step), "unseen")
            return self._broken(act, direction=target, onto=onto)
        return self._broken(act, thing=target) if act == "use" else self._broken(act)

    def allowed(self, outlook: Outlook) -> Outlook:
        """The outlook for a planner: no thing that a rule forbids, and forbidden ground as rock."""
        kinds = {*outlook.things.values(), *outlook.places}
        banned = {kind for kind in kinds if self._broken("use", thing=kind)}
        ground = {
            name: _ROCK if self._broken("move", onto=name) else name
            for name in set(outlook.terrain.values())
        }
        return replace(
            outlook,
            things={at: kind for at, kind in outlook.things.items() if kind not in banned},
            places={kind: at for kind, at in outlook.places.items() if kind not in banned},
            terrain={at: ground[name] for at, name in outlook.terrain.items()},
        )

    def _broken(self, name: str, **args: str) -> Breach | None:
        key = (name, *args.values())
        if key not in self._verdicts:
            act = self.acts.get(args.get("thing", ""), "")
            tool = Tool(name, f"{_SYNONYMS.get(name, '')} {act}".strip())
            call = ActCall(name, args | ({"act": act} if act else {}))
            self._verdicts[key] = next(breaches(call, tool, self.pins, self.at), None)
        return self._verdicts[key]

    def candidates(self, outlook: Outlook) -> tuple[str, ...]:
        """The steps that the world and the rules allow now, `wait` first."""
        open_to = [name for name, at in MOVES.items() if outlook.terrain.get(at, _ROCK) != _ROCK]
        steps = [WAIT, *(f"move {direction}" for direction in open_to)]
        if here := outlook.things.get((0, 0)):
            steps.append(f"use {here}")
        return tuple(step for step in steps if not self.conflict(step, outlook))

    def evasion(self, outlook: Outlook) -> str | None:
        """The planner's step for a body in danger; None when the rules leave no step at all."""
        first = plan_steps(self.allowed(outlook), self.beliefs, most=1).steps[0]
        allowed = self.candidates(outlook)
        return first if first in allowed else next(iter(allowed), None)

    def fallback(self, outlook: Outlook) -> Plan:
        """A plan in place of one that is missing or cannot be used."""
        return plan_of(plan_steps(self.allowed(outlook), self.beliefs))

    def corrected(self, plan: Plan, danger: float) -> Plan:
        """The plan within bounds, its risk no lower than the fear model's estimate."""
        bounded = Plan.model_validate(_bounded(plan.model_dump()))
        return bounded.model_copy(update={"risk": max(danger, min(bounded.risk, 1.0))})


def danger_alerts(above: str, outlook: Outlook, step: str) -> Iterator[Alert]:
    """What a person should know of a danger `above` the threshold, and of the step against it."""
    yield Alert(kind="threshold", text=above)
    if outlook.body.life <= LETHAL * outlook.body.most_life:
        life = f"{outlook.body.life} of {outlook.body.most_life} points of life"
        yield Alert(kind="lethal_risk", text=f"{above} with {life}")
    if step == WAIT:
        yield Alert(kind="emergency_stop", text=f"{above}: the plan stops and waits")


def _bounded(value: Any) -> Any:  # noqa: ANN401 - JSON
    """JSON with short texts and lists, and small or finite numbers."""
    if isinstance(value, str):
        return one_line(value[: 4 * _CHARS])[:_CHARS]
    if isinstance(value, dict):
        return {name: _bounded(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_bounded(item) for item in value[:_ITEMS]]
    if isinstance(value, int):
        return max(-_NUMBER, min(value, _NUMBER))
    return 0.0 if isinstance(value, float) and not math.isfinite(value) else value
