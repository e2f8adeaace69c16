"""Plans follow from an outlook and beliefs alone: needs first, then life, then the unknown."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.ext.survivor.exploration import Outlook, Prospect
from acc_ace.ext.survivor.planner import Belief, Beliefs, plan_steps
from acc_ace.ext.survivor.survival import Body
from acc_ace.ext.survivor.world_rules import Nature

PLAIN = {(south, east): "plain" for south in range(-6, 7) for east in range(-6, 7)}
FULL = Body(life=12, food=60, water=30, most_life=12, most_food=60, most_water=30)
PROMISING = {"star": Prospect(0.5, 0.2)}
KNOWN: Beliefs = {
    "cone": Belief(Nature.WATER),
    "cube": Belief(Nature.FOOD),
    "disc": Belief(Nature.DANGER),
    "ring": Belief(Nature.REMEDY),
    "wolf": Belief("hunter"),
    "crow": Belief("harmless"),
}
OUTLOOK = Outlook(
    body=FULL,
    is_night=False,
    light_left=30,
    is_safe=False,
    sight=6,
    terrain=PLAIN,
    things={},
    creatures={},
    approaching=frozenset(),
    places={},
    safe=None,
    frontier=(9, 0),
    frontier_bits=1.0,
    danger=0.0,
    threshold=0.6,
    exploration=0.5,
)


def seen(**changes: Any) -> Outlook:
    body: dict[str, Any] = {
        name: changes.pop(name) for name in ("life", "food", "water") if name in changes
    }
    return replace(OUTLOOK, body=FULL.model_copy(update=body), **changes)


@pytest.mark.parametrize(
    ("outlook", "steps", "objective"),
    [
        (seen(water=9, things={(-2, 0): "cone"}), "move north, move north, use cone", "get water"),
        (seen(food=9, things={(0, 1): "cube"}), "move east, use cube", "get food"),
        (seen(life=4, things={(1, 0): "ring"}), "move south, use ring", "heal"),
        (seen(water=9, things={(0, 0): "cone"}), "use cone", "get water"),
        (seen(water=9, places={"cone": ((0, -9),)}), ", ".join(["move west"] * 6), "get water"),
        (seen(water=9), ", ".join(["move south"] * 6), "search for water"),
        (seen(), ", ".join(["move south"] * 6), "explore"),
        (seen(exploration=0.0), ", ".join(["wait"] * 6), "stay safe"),
        (seen(life=5, safe=(0, -8)), ", ".join(["move west"] * 6), "rest"),
        (seen(is_night=True, is_safe=True), ", ".join(["wait"] * 6), "shelter for the night"),
        (seen(things={(0, 1): "disc"}, exploration=0.0), ", ".join(["wait"] * 6), "stay safe"),
    ],
    ids=lambda value: value if isinstance(value, str) and "," not in value else "",
)
def test_the_most_pressing_is_done(outlook: Outlook, steps: str, objective: str) -> None:
    plan = plan_steps(outlook, KNOWN)
    assert (", ".join(plan.steps), plan.objective) == (steps, objective)


def test_ways_go_round_rock_lava_and_thickets() -> None:
    wall = {(-1, 0): "thicket", (-2, 0): "thicket", (-1, 1): "lava", (-2, 1): "rock"}
    outlook = seen(water=9, things={(-3, 0): "cone"}, terrain=PLAIN | wall)
    steps = plan_steps(outlook, KNOWN).steps
    assert (len(steps), steps[-1]) == (6, "use cone")
    assert _entered(outlook, steps) == {"plain"}


def _entered(outlook: Outlook, steps: tuple[str, ...]) -> set[str]:
    moves = {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1)}
    at, terrain = (0, 0), set()
    for step in steps:
        if step.startswith("move"):
            south, east = moves[step.removeprefix("move ")]
            at = (at[0] + south, at[1] + east)
            terrain.add(outlook.terrain[at])
    return terrain


def test_a_hunter_is_fled_and_a_harmless_creature_is_not() -> None:
    near = {"creatures": {(0, 2): "wolf"}, "approaching": frozenset({(0, 2)}), "exploration": 0.0}
    plan = plan_steps(seen(**near), KNOWN)
    assert plan.objective == "get away"
    assert plan.steps[0] != "move east"
    assert plan.risk == 0.5
    harmless = plan_steps(seen(**near | {"creatures": {(0, 2): "crow"}}), KNOWN)
    assert (harmless.objective, harmless.risk) == ("stay safe", 0.0)


def test_an_unknown_creature_is_suffered_below_the_threshold() -> None:
    near = seen(creatures={(0, 2): "crow"}, approaching=frozenset({(0, 2)}), exploration=0.0)
    objectives = [plan_steps(replace(near, danger=each), {}).objective for each in (0.5, 0.6)]
    assert objectives == ["stay safe", "get away"]


@pytest.mark.parametrize(
    ("outlook", "tries"),
    [
        (seen(water=10, exploration=0.0), True),
        (seen(water=10, life=4, exploration=0.0), False),
        (seen(water=4, life=5, exploration=0.0), True),
        (seen(water=0, life=2, exploration=0.0), True),
        (seen(prospects=PROMISING), True),
        (seen(prospects=PROMISING, exploration=0.0), False),
        (seen(prospects=PROMISING, life=6), False),
        (seen(prospects={"star": Prospect(0.5, 0.9)}), False),
        (seen(prospects=PROMISING, is_night=True), False),
    ],
    ids=[
        "whole and short",
        "weak and short",
        "weak and shorter",
        "dying",
        "curious and whole",
        "not curious",
        "curious and weak",
        "curious and afraid",
        "curious by night",
    ],
)
def test_the_unknown_is_tried_out_of_need_or_curiosity(outlook: Outlook, tries: bool) -> None:
    seen_now = replace(outlook, things={(0, 1): "star"}, frontier_bits=0.0)
    plan = plan_steps(seen_now, {})
    assert ("use star" in plan.steps) is tries
    assert (plan.risk == 0.6) is tries


@pytest.mark.parametrize(
    ("bits", "objective"),
    [(0.1, "find out about star"), (2.0, "explore")],
)
def test_most_is_learnt_a_step_where_curiosity_goes(bits: float, objective: str) -> None:
    outlook = seen(things={(0, 1): "star"}, prospects=PROMISING, frontier_bits=bits)
    assert plan_steps(outlook, {}).objective == objective


def test_what_was_a_danger_in_another_season_is_tried_when_nothing_else_is_left() -> None:
    outlook = seen(water=10, things={(0, 1): "disc"}, exploration=0.0)
    assert "use disc" in plan_steps(outlook, {"disc": Belief(Nature.DANGER, is_of_now=False)}).steps
    assert "use disc" not in plan_steps(outlook, {"disc": Belief(Nature.DANGER)}).steps


def test_a_weak_belief_counts_for_nothing() -> None:
    outlook = seen(water=10, things={(0, 1): "cone"}, exploration=0.0)
    assert plan_steps(outlook, {"cone": Belief(Nature.WATER)}).objective == "get water"
    doubted = {"cone": Belief(Nature.WATER, weight=0.4)}
    assert plan_steps(outlook, doubted).objective == "try cone for water"


@given(
    water=st.integers(1, 30),
    food=st.integers(1, 60),
    cells=st.lists(st.sampled_from(sorted(PLAIN)), min_size=4, max_size=4, unique=True),
)
def test_who_needs_two_things_does_not_dither(
    water: int, food: int, cells: list[tuple[int, int]]
) -> None:
    """After a step towards a source the plan goes for the same source."""
    kinds = dict(zip(cells, ("cone", "cube", "cone", "cube"), strict=True))
    outlook = seen(water=water, food=food, things=kinds, exploration=0.0)
    first = plan_steps(outlook, KNOWN)
    if not first.objective.startswith("get ") or not first.steps[0].startswith("move"):
        return
    moves = {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1)}
    south, east = moves[first.steps[0].removeprefix("move ")]
    after = {(cell[0] - south, cell[1] - east): kind for cell, kind in kinds.items()}
    ground = {(cell[0] - south, cell[1] - east): "plain" for cell in PLAIN}
    body = FULL.model_copy(update={"water": water - 1, "food": food - 1})
    second = plan_steps(replace(outlook, body=body, things=after, terrain=ground), KNOWN)
    back = {"north": "south", "south": "north", "west": "east", "east": "west"}
    undone = f"move {back[first.steps[0].removeprefix('move ')]}"
    assert second.steps[0] != undone


def test_a_body_without_life_has_a_plan_too() -> None:
    dead = seen(life=0, things={(0, 1): "star"}, prospects=PROMISING)
    assert plan_steps(dead, {}).steps


def test_a_plan_has_at_most_the_steps_that_it_may_have() -> None:
    assert len(plan_steps(seen(), KNOWN, most=1).steps) == 1
    assert len(plan_steps(seen(terrain={}, frontier=None), KNOWN).steps) == 6
