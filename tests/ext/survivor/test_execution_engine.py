"""The engine makes valid steps only, one by one, and stops at a risk."""

from collections.abc import Sequence
from typing import Any

import pytest

from acc_ace.ext.survivor.execution_engine import Acted, ExecutionEngine
from acc_ace.ext.survivor.planner import Belief
from acc_ace.ext.survivor.safety_sentinel import SafetySentinel
from acc_ace.ext.survivor.survival import MOST_STEPS, Action, Plan, StepRecord
from tests.ext.survivor.surroundings import AT, Stage, felt, moment, rules
from tests.fakes.tables import each_case

LAVA_RULE = "Never move onto lava."


def plan(*actions: tuple[Any, ...], **more: Any) -> Plan:
    taken = (dict(zip(("type", "target", "times"), each, strict=False)) for each in actions)
    return Plan(objective="live", actions=tuple(Action(**each) for each in taken), **more)


async def acted(
    stage: Stage, first: Plan, *then: Plan, sentinel: SafetySentinel | None = None
) -> tuple[Acted, list[str]]:
    """The tick, and the reasons for which it was planned once more."""
    asked: list[str] = []
    plans = iter(then)

    async def replan(why: str) -> Plan:
        asked.append(why)
        return next(plans)

    engine = ExecutionEngine(stage, sentinel or SafetySentinel([], AT))
    return await engine.act(first, replan), asked


def statuses(steps: Sequence[StepRecord]) -> list[tuple[str, str]]:
    return [(step.wanted, step.status) for step in steps]


async def test_a_plan_is_made_step_by_step_and_recorded() -> None:
    stage = Stage(moment(things={(0, 0): "cone"}), fear=0.25)
    done, _ = await acted(stage, plan(("use", "cone"), ("move", "North", 2), (" WAIT ",)))
    assert stage.made == ["use", "north", "north", "wait"]
    assert statuses(done.steps) == [
        ("use cone", "done"),
        ("move north", "done"),
        ("move north", "done"),
        ("wait", "done"),
    ]
    assert {(step.danger, step.reward) for step in done.steps} == {(0.25, 0.1)}
    assert (done.flag, done.alerts) == ("", ())


@each_case
def test_refused_action(action: list[Any], why: str) -> None:
    import asyncio  # noqa: PLC0415 - a table has one plain test

    stage = Stage(moment(things={(0, 0): "cone"}))
    done, _ = asyncio.run(acted(stage, plan(tuple(action), ("move", "north"))))
    assert "north" not in stage.made
    assert done.steps[0].status == "blocked"
    assert why in done.steps[0].why
    assert len(done.steps[0].wanted) < 140


async def test_a_tick_has_six_steps_however_its_actions_repeat() -> None:
    stage = Stage(moment())
    done, _ = await acted(stage, plan(("move", "north", 4), ("move", "east", 6), ("wait",)))
    assert stage.made == ["north"] * 4 + ["east"] * 2
    assert statuses(done.steps)[-1] == ("move east x6", "skipped")


async def test_of_ten_thousand_actions_six_are_read_and_the_rest_is_refused_in_one_record() -> None:
    stage = Stage(moment())
    done, _ = await acted(stage, plan(*[("wait",)] * 10_000))
    assert len(stage.made) == MOST_STEPS
    assert statuses(done.steps)[-1] == ("9,994 more actions", "skipped")
    assert len(done.steps) == MOST_STEPS + 1
    assert len(done.plan.actions) < 20


async def test_damage_stops_the_plan_and_it_is_planned_once_more_within_the_tick() -> None:
    def bitten(stage: Stage, step: str) -> StepRecord:
        return felt(life=-5, cause="wolf") if step == "north" else felt()

    stage = Stage(moment(), script=bitten)
    first, second = plan(("move", "north", 3)), plan(("move", "south"), ("move", "north", 6))
    done, asked = await acted(stage, first, second)
    assert asked == ["wolf took 5 of life"]
    assert stage.made == ["north", "south", "north"]
    assert done.flag == "damage"


async def test_two_plans_of_a_tick_have_six_steps_together() -> None:
    def bitten(stage: Stage, step: str) -> StepRecord:
        return felt(life=-1, cause="wolf") if len(stage.made) == 4 else felt()

    stage = Stage(moment(), script=bitten)
    await acted(stage, plan(("wait", "", 6)), plan(("move", "south", 6)))
    assert stage.made == ["wait"] * 4 + ["south"] * 2


async def test_hunger_is_no_reason_to_plan_again() -> None:
    stage = Stage(moment(), script=lambda stage, step: felt(life=-1))
    done, asked = await acted(stage, plan(("wait", "", 3)))
    assert (done.flag, asked) == ("", [])


@pytest.mark.parametrize(("nature", "flag"), [(None, "creature"), ("harmless", "")])
async def test_a_creature_newly_in_reach_stops_the_plan_unless_it_is_harmless(
    nature: Any, flag: str
) -> None:
    def comes(stage: Stage, step: str) -> StepRecord:
        stage.show(creatures={(-3, 0): "crow"}, approaching=frozenset({(-3, 0)}))
        return felt()

    stage = Stage(moment(), script=comes)
    sentinel = SafetySentinel([], AT, {"crow": Belief(nature)})
    done, asked = await acted(stage, plan(("wait", "", 2)), plan(("wait",)), sentinel=sentinel)
    assert asked == (["crow came within 3 steps"] if flag else [])
    assert done.flag == ""


async def test_above_the_threshold_the_planner_evades_until_the_danger_is_past() -> None:
    def calms(stage: Stage, step: str) -> StepRecord:
        stage.fear -= 0.1
        return felt()

    wolf = {(-3, 0): "wolf"}
    stage = Stage(moment(creatures=wolf, approaching=frozenset(wolf)), fear=0.75, script=calms)
    sentinel = SafetySentinel([], AT, {"wolf": Belief("hunter")})
    done, asked = await acted(stage, plan(("move", "north", 6), risk=0.1), sentinel=sentinel)
    assert "north" not in stage.made
    assert len(stage.made) == 2
    assert [step.status for step in done.steps] == ["evaded", "evaded"]
    assert done.steps[0].wanted == "move north"
    assert done.steps[0].why == "danger 0.75 above 0.60"
    assert (done.flag, asked) == ("danger", [])
    assert done.alerts[0].kind == "threshold"
    assert done.plan.risk == 0.75


async def test_in_the_safe_area_a_danger_stops_the_plan_and_a_weak_body_is_an_alert() -> None:
    body = moment().body.model_copy(update={"life": 4})
    wolf = {(-3, 0): "wolf"}
    outlook = moment(
        body=body,
        is_safe=True,
        terrain={(0, 0): "safe"},
        creatures=wolf,
        approaching=frozenset(wolf),
    )
    stage = Stage(outlook, fear=0.9)
    done, _ = await acted(stage, plan(("move", "north")))
    assert set(stage.made) == {"wait"}
    kinds = {alert.kind for alert in done.alerts}
    assert kinds == {"threshold", "lethal_risk", "emergency_stop"}
    assert len(done.alerts) == len(kinds)


async def test_a_step_that_breaks_a_rule_is_blocked_with_its_rule_and_an_alert() -> None:
    stage = Stage(moment(terrain={(-1, 0): "lava"}, things={(0, 0): "torus"}))
    sentinel = SafetySentinel(rules(LAVA_RULE, "Never use a torus."), AT)
    done, _ = await acted(stage, plan(("move", "north")), sentinel=sentinel)
    assert (done.steps[0].status, done.steps[0].rule_id) == ("blocked", "c-0001")
    assert [alert.kind for alert in done.alerts] == ["rule_violation"]
    assert LAVA_RULE in done.alerts[0].text
    done, _ = await acted(stage, plan(("use", "")), sentinel=sentinel)
    assert (done.steps[0].wanted, done.steps[0].rule_id) == ("use torus", "c-0002")
    assert "north" not in stage.made
    assert "use" not in stage.made


async def test_a_tick_without_a_step_of_its_plan_makes_one_of_the_planner() -> None:
    stage = Stage(moment())
    done, _ = await acted(stage, Plan(objective="nothing", actions=()))
    assert len(stage.made) == 1
    assert (done.steps[0].status, done.steps[0].why) == (
        "evaded",
        "no step of the plan could be made",
    )


async def test_where_rules_leave_no_step_none_is_made() -> None:
    stage = Stage(moment())
    sentinel = SafetySentinel(rules("Never move.", "Never wait."), AT)
    done, _ = await acted(stage, plan(("wait",)), sentinel=sentinel)
    assert stage.made == []
    assert done.steps[-1].why == "the rules leave no step"


async def test_an_exception_of_the_world_ends_the_tick_with_its_steps_kept() -> None:
    def breaks(stage: Stage, step: str) -> StepRecord:
        if len(stage.made) == 2:
            raise OSError("the world is gone")
        return felt()

    stage = Stage(moment(), script=breaks)
    done, asked = await acted(stage, plan(("move", "north", 6)))
    assert [step.status for step in done.steps] == ["done", "failed"]
    assert done.steps[1].why == "OSError: the world is gone"
    assert (done.flag, asked) == ("failed", [])


async def test_a_life_that_ends_ends_the_tick() -> None:
    def dies(stage: Stage, step: str) -> StepRecord:
        stage.is_over = True
        return felt(life=-12, cause="lava")

    stage = Stage(moment(), script=dies)
    done, asked = await acted(stage, plan(("wait", "", 6)))
    assert (len(stage.made), done.flag, asked) == (1, "over", [])
