"""Execution Engine (component 4): validate a plan, make its steps one by one, stop at a risk.

Nothing that a model writes is executed: an action selects a member of the whitelist, and what it
aims at is read from the world. All work is bounded by the steps of a tick.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final, Literal, NamedTuple, Protocol

from acc_ace.core.text.normalize import one_line
from acc_ace.ext.survivor.exploration import Outlook
from acc_ace.ext.survivor.fear import is_damaged
from acc_ace.ext.survivor.safety_sentinel import SafetySentinel, danger_alerts
from acc_ace.ext.survivor.survival import (
    DIRECTIONS,
    MOST_STEPS,
    Action,
    ActionType,
    Alert,
    Plan,
    StepRecord,
    StepStatus,
)
from acc_ace.ext.survivor.world_rules import apart, used_in

REACH: Final = 3
"""Steps within which an approaching creature is in reach."""

_SHOWN_CHARS = 60
_NO_STEP = "the rules leave no step"

Flag = Literal["", "damage", "creature", "danger", "blocked", "failed", "over"]
"""Why a plan ended early; '' when it did not."""


class Surroundings(Protocol):
    """The world as the engine reaches it."""

    @property
    def outlook(self) -> Outlook:
        """What is known now."""
        ...

    @property
    def fear(self) -> float:
        """The fear model's estimate: P(damage within three steps)."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether life or the world has ended."""
        ...

    def step(self, step: str) -> StepRecord:
        """Make one step and observe it; records what it changed. May raise anything."""
        ...


Replan = Callable[[str], Awaitable[Plan]]
"""Plans the rest of a tick; it is given what stopped the first plan."""


class Acted(NamedTuple):
    """How a tick was acted; `plan` is the last one, within bounds and with its risk corrected."""

    plan: Plan
    steps: tuple[StepRecord, ...]
    alerts: tuple[Alert, ...]
    flag: Flag


class ExecutionEngine:
    """Acts one tick: MOST_STEPS over its plans, each seen by the sentinel first."""

    def __init__(self, around: Surroundings, sentinel: SafetySentinel) -> None:
        self._around, self._sentinel, self._left = around, sentinel, MOST_STEPS
        self._records: list[StepRecord] = []
        self._alerts: list[Alert] = []
        self._why, self._replanned = "", False

    async def act(self, plan: Plan, replan: Replan) -> Acted:
        """Follow a plan; after damage or an approach plan once more; make at least one step.

        An exception of the world ends the tick with the flag 'failed'. Raises what `replan` does.
        """
        shown, flag = self._follow(plan)
        if flag in {"damage", "creature"} and self._left > 0:
            plan, self._replanned = await replan(self._why), True
            shown, flag = self._follow(plan)
        if not any(record.done for record in self._records) and flag != "failed":
            flag = self._rescue() or flag
        return Acted(shown, tuple(self._records), tuple(self._alerts), flag)

    def _follow(self, plan: Plan) -> tuple[Plan, Flag]:
        """The plan as it is shown, and how its steps ended."""
        shown = self._sentinel.corrected(plan, self._around.fear)
        flag = self._act(shown.actions[:MOST_STEPS])
        beyond = len(plan.actions) - MOST_STEPS
        if beyond > 0:
            why = f"a plan has at most {MOST_STEPS} actions"
            self._record(f"{beyond:,} more actions", "skipped", why)
        return shown, flag

    def _act(self, actions: Sequence[Action]) -> Flag:
        """Make the steps of actions until they end, are stopped, or the tick has no step left."""
        for action in actions:
            refusal = _refusal(action)
            if refusal:
                return self._block(_shown(action), refusal)
            for _ in range(action.times):
                if self._left <= 0:
                    self._record(_shown(action), "skipped", f"a tick has {MOST_STEPS} steps")
                    return ""
                if flag := self._make(_step(action, self._around.outlook)):
                    return flag
        return ""

    def _make(self, step: str) -> Flag:
        """One step of a plan, or the one against a danger in its place."""
        outlook = self._around.outlook
        if self._above and self._sentinel.evasion(outlook) != step:
            return self._evade(step)
        here = outlook.things.get((0, 0), "")
        if step.startswith("use") and (not here or used_in(step) != here):
            return self._block(step, f"here is {here or 'nothing to use'}")
        if broken := self._sentinel.conflict(step, outlook):
            text = f"'{step}' would break '{broken.rule}'"
            self._alerts.append(Alert(kind="rule_violation", text=text))
            return self._block(step, f"{broken.why}: {broken.rule}", broken.rule_id)
        return self._step(step, step)

    def _step(self, step: str, wanted: str, *, evaded: str = "") -> Flag:
        """Make a step that may be made, and say which risk it left."""
        before, danger = self._around.outlook, self._around.fear
        try:
            made = self._around.step(step)
        except Exception as error:  # noqa: BLE001 - a world may raise anything; the run is saved
            why = one_line(f"{type(error).__name__}: {error}"[:400])
            self._record(wanted, "failed", why)
            return "failed"
        self._left -= 1
        values = {"wanted": wanted, "why": evaded, "danger": danger, "replanned": self._replanned}
        status: StepStatus = "evaded" if evaded else "done"
        self._records.append(made.model_copy(update={**values, "status": status}))
        return self._risk(made, before)

    def _risk(self, made: StepRecord, before: Outlook) -> Flag:
        if self._around.is_over:
            return "over"
        if is_damaged(made):
            self._why = f"{made.cause} took {-made.life} of life"
            return "damage"
        if came := sorted(set(self._in_reach(self._around.outlook)) - set(self._in_reach(before))):
            self._why = f"{', '.join(came)} came within {REACH} steps"
            return "creature"
        return ""

    def _in_reach(self, outlook: Outlook) -> Iterator[str]:
        """The kinds of creatures that approach within reach, but for those thought harmless."""
        for cell in outlook.approaching:
            kind = outlook.creatures.get(cell, "")
            belief = self._sentinel.beliefs.get(kind)
            if apart(cell) <= REACH and not (belief and belief.nature == "harmless"):
                yield kind

    def _evade(self, wanted: str) -> Flag:
        """Steps of the planner, until the danger is below the threshold or the tick is over."""
        while self._left > 0 and (above := self._above):
            outlook = self._around.outlook
            step = self._sentinel.evasion(outlook)
            if step is None:
                return self._block(wanted, _NO_STEP)
            raised = {alert.kind for alert in self._alerts}
            new = danger_alerts(above, outlook, step)
            self._alerts.extend(alert for alert in new if alert.kind not in raised)
            flag = self._step(step, wanted or step, evaded=above)
            if flag in {"over", "failed"}:
                return flag
            wanted = ""
        return "danger"

    @property
    def _above(self) -> str:
        """By how much the danger is above the threshold; '' when it is not."""
        fear, threshold = self._around.fear, self._around.outlook.threshold
        return f"danger {fear:.2f} above {threshold:.2f}" if fear > threshold else ""

    def _rescue(self) -> Flag:
        """The planner's step, when no step of the plans could be made."""
        step = self._sentinel.evasion(self._around.outlook)
        if step is None:
            return self._block("wait", _NO_STEP)
        return self._step(step, step, evaded="no step of the plan could be made")

    def _block(self, wanted: str, why: str, rule_id: str = "") -> Flag:
        self._record(one_line(wanted), "blocked", why, rule_id)
        return "blocked"

    def _record(self, wanted: str, status: StepStatus, why: str, rule_id: str = "") -> None:
        fear = self._around.fear
        self._records.append(
            StepRecord(wanted=wanted, status=status, why=why, rule_id=rule_id, danger=fear)
        )


def _step(action: Action, outlook: Outlook) -> str:
    """The step of a valid action: only what the whitelist and the world name reaches it."""
    act, target = _word(action.type), _word(action.target)
    if act == ActionType.USE:
        target = target or outlook.things.get((0, 0), "")
    return act if act == ActionType.WAIT else f"{act} {target}".rstrip()


def _refusal(action: Action) -> str:
    """Why an action is none of the whitelist; '' when it is one."""
    kind, target = _word(action.type), _word(action.target)
    if kind not in list(ActionType):
        return f"an action is one of {', '.join(ActionType)}"
    if kind == ActionType.MOVE and target not in DIRECTIONS:
        return f"a direction is one of {', '.join(DIRECTIONS)}"
    if not 1 <= action.times <= MOST_STEPS:
        return f"an action is repeated 1 to {MOST_STEPS} times"
    return ""


def _word(text: str) -> str:
    return text[:_SHOWN_CHARS].strip().casefold()


def _shown(action: Action) -> str:
    """An action as it was proposed, on one short line."""
    words = one_line(f"{action.type[:_SHOWN_CHARS]} {action.target[:_SHOWN_CHARS]}")
    return words if action.times == 1 else f"{words} x{action.times}"
