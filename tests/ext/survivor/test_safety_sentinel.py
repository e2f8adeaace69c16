"""The sentinel corrects plans, keeps thresholds in bounds, and plans around the rules."""

import math
from typing import Any

import pytest

from acc_ace.ext.survivor.planner import Belief
from acc_ace.ext.survivor.safety_sentinel import SafetySentinel, moved_threshold
from acc_ace.ext.survivor.survival import THRESHOLD_BOUNDS, Action, AlertUpdate, Plan
from acc_ace.ext.survivor.world_rules import Nature
from tests.ext.survivor.surroundings import AT, moment, rules
from tests.fakes.tables import each_case

THIRSTY = moment().body.model_copy(update={"water": 5})


@each_case
def test_rule_is_held_against_step(rule: str, step: str, onto: str, is_broken: bool) -> None:
    outlook = moment(terrain={(-1, 0): onto}, things={(0, 0): "torus"})
    found = SafetySentinel(rules(rule), AT).conflict(step, outlook)
    assert (found is not None) is is_broken


@pytest.mark.parametrize(
    ("stated", "fear", "shown"),
    [(0.1, 0.7, 0.7), (0.9, 0.7, 0.9), (-3.0, 0.2, 0.2), (40.0, 0.2, 1.0), (math.nan, 0.3, 0.3)],
)
def test_a_risk_stated_below_the_fear_models_is_corrected(
    stated: float, fear: float, shown: float
) -> None:
    plan = Plan(objective="x", actions=(), risk=stated)
    assert SafetySentinel([], AT).corrected(plan, fear).risk == shown


def test_a_huge_plan_is_kept_within_bounds() -> None:
    plan = Plan(
        objective="go\n" * 100_000,
        actions=(Action(type="x" * 10_000, times=10**40),) * 10_000,
        alert_updates=(AlertUpdate(cause="c" * 10_000),) * 1_000,
        expected_reward=math.inf,
    )
    shown = SafetySentinel([], AT).corrected(plan, 0.0)
    assert len(shown.model_dump_json()) < 30_000
    assert "\n" not in shown.objective
    assert shown.expected_reward == 0.0


@pytest.mark.parametrize(
    ("threshold", "change", "moved"),
    [
        (0.6, None, 0.6),
        (0.6, 0.05, 0.65),
        (0.6, 1e9, 0.7),
        (0.6, -1.0, 0.5),
        (0.85, 0.1, THRESHOLD_BOUNDS[1]),
        (0.2, -0.1, THRESHOLD_BOUNDS[0]),
        (0.6, math.nan, 0.6),
    ],
)
def test_a_plan_moves_the_threshold_a_little_and_within_bounds(
    threshold: float, change: Any, moved: float
) -> None:
    plan = Plan(objective="x", actions=(), threshold_change=change)
    assert moved_threshold(threshold, plan) == pytest.approx(moved)


def test_a_fallback_plan_fetches_what_is_short_but_not_what_a_rule_forbids() -> None:
    outlook = moment(body=THIRSTY, things={(-1, 0): "torus", (0, 3): "cone"})
    beliefs = {kind: Belief(Nature.WATER) for kind in ("torus", "cone")}
    nearest = SafetySentinel([], AT, beliefs).fallback(outlook)
    lawful = SafetySentinel(rules("Never use a torus."), AT, beliefs).fallback(outlook)
    assert nearest.actions[-1] == Action(type="use", target="torus")
    assert lawful.actions == (
        Action(type="move", target="east", times=3),
        Action(type="use", target="cone"),
    )


def test_an_evasion_keeps_to_the_rules() -> None:
    wolf, safe = {(0, 2): "wolf"}, {(0, -2): "safe"}
    outlook = moment(creatures=wolf, approaching=frozenset(wolf), terrain=safe)
    beliefs = {"wolf": Belief("hunter")}
    first = SafetySentinel([], AT, beliefs).evasion(outlook)
    assert first == "move west"
    other = SafetySentinel(rules("Never move west."), AT, beliefs).evasion(outlook)
    assert other is not None
    assert other != first


def test_candidates_are_what_world_and_rules_allow() -> None:
    outlook = moment(
        terrain={(-1, 0): "rock", (1, 0): "lava"}, things={(0, 0): "torus", (0, 1): "cone"}
    )
    steps = SafetySentinel(rules("Never move onto lava."), AT).candidates(outlook)
    assert list(map(str, steps)) == ["wait", "move west", "move east", "use torus"]
