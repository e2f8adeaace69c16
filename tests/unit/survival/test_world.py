"""The world keeps gymnasium's contract, repeats itself by seed, and stays within its bounds."""

import random
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from acc_ace.errors import InputError
from acc_ace.survival.senses import Stance, felt, hindsight, sensed
from acc_ace.survival.world import ACTIONS, FIRST_KIND, Touch, World
from acc_ace.survival.world_rules import KINDS, Nature, Rules, Sizes
from tests.fakes.examples import examples

Steps = list[tuple[dict[str, list[Any]], float, bool, bool, Touch | None]]
moves = st.lists(st.integers(0, len(ACTIONS) - 1), max_size=80)


def lived(world: World, seed: int, actions: list[int]) -> Steps:
    observation, info = world.reset(seed=seed)
    steps: Steps = [(_plain(observation), 0.0, False, False, info["touch"])]
    for action in actions:
        observation, reward, died, over, info = world.step(np.int64(action))
        steps.append((_plain(observation), reward, died, over, info["touch"]))
    return steps


def _plain(observation: dict[str, Any]) -> dict[str, list[Any]]:
    return {name: array.tolist() for name, array in observation.items()}


def test_gymnasium_accepts_the_world() -> None:
    check_env(World(Rules.drawn(0)), skip_render_check=True)


@settings(max_examples=examples(fast=10, soak=40))
@given(seed=st.integers(0, 2**31), actions=moves)
def test_the_same_seed_and_actions_give_the_same_life(seed: int, actions: list[int]) -> None:
    rules = Rules.drawn(seed % 7)
    assert lived(World(rules), seed, actions) == lived(World(rules), seed, actions)


@settings(max_examples=examples(fast=10, soak=40))
@given(seed=st.integers(0, 2**31), actions=moves, side=st.integers(6, 14))
def test_no_life_leaves_the_bounds(seed: int, actions: list[int], side: int) -> None:
    world = World(Rules.drawn(seed % 7), Sizes(side=side))
    observation, _ = world.reset(seed=seed)
    for action in actions:
        assert world.observation_space.contains(observation)
        observation = world.step(np.int64(action))[0]
    assert world.observation_space.contains(observation)


def test_seeds_lay_out_different_worlds() -> None:
    world = World(Rules.drawn(0))
    views = {str(world.reset(seed=seed)[0]["view"].tolist()) for seed in range(5)}
    assert len(views) == 5


def test_which_kinds_harm_is_drawn_anew_and_how_many_is_not() -> None:
    dangers = [
        frozenset(kind for kind in KINDS if Rules.drawn(seed).natures[kind] is Nature.DANGER)
        for seed in range(20)
    ]
    assert {len(kinds) for kinds in dangers} == {5}
    assert len(set(dangers)) > 10
    assert frozenset.union(*dangers) == set(KINDS)


@pytest.mark.parametrize(
    ("nature", "words", "right"),
    [
        (Nature.DANGER, "health -4", Stance.AVOID),
        (Nature.FOOD, "energy +2", Stance.EAT),
        (Nature.WATER, "water +2", Stance.DRINK),
        (Nature.REMEDY, "nothing changed", None),
    ],
)
def test_a_touch_does_what_the_nature_says_and_is_told_so(
    nature: Nature, words: str, right: Stance | None
) -> None:
    rules = Rules(natures=dict.fromkeys(KINDS, nature))
    touch = first_touch(World(rules))
    assert felt(touch) == f"touched {touch.kind}: {words}"
    assert hindsight(touch) is right


def first_touch(world: World) -> Touch:
    """Step out and back onto a cell that holds a thing after two ticks of a full body."""
    for seed in range(500):
        observation, _ = world.reset(seed=seed)
        middle = world.sizes.sight
        if (
            observation["view"][middle - 2, middle]
            >= FIRST_KIND
            > observation["view"][middle - 1, middle]
        ):
            world.step(np.int64(ACTIONS.index("north")))
            touch = world.step(np.int64(ACTIONS.index("north")))[4]["touch"]
            assert isinstance(touch, Touch)
            return touch
    raise AssertionError("no world has a thing two steps north")


def test_a_touched_thing_comes_back_elsewhere() -> None:
    sizes = Sizes(sight=8, side=8)
    world = World(Rules.drawn(0), sizes)
    first_touch(world)
    observation, _ = world.reset(seed=1)
    before = sorted(sensed(observation, sizes).things.values())
    for action in ("north", "north", "west", "south", "east"):
        observation = world.step(np.int64(ACTIONS.index(action)))[0]
    assert sorted(sensed(observation, sizes).things.values()) == before


@pytest.mark.parametrize("action", [-1, len(ACTIONS)])
def test_an_action_that_is_none_is_refused(action: int) -> None:
    world = World(Rules.drawn(0))
    world.reset(seed=0)
    with pytest.raises(InputError, match=f"from 0 to 4, not .*{action}"):
        world.step(np.int64(action))


def test_rules_name_every_kind_and_no_other() -> None:
    with pytest.raises(ValidationError, match="each of cone, cube"):
        Rules(natures={"cone": Nature.FOOD})
    with pytest.raises(ValidationError, match="each of cone, cube"):
        Rules(natures={**Rules.drawn(0).natures, "stone": Nature.FOOD})


def test_the_fullest_world_has_room_for_what_comes_back() -> None:
    walk = random.Random(0).choices(range(len(ACTIONS)), k=200)
    steps = lived(World(Rules.drawn(0), Sizes(side=6, each=3, health=1_000)), 0, walk)
    assert sum(touch is not None for *_, touch in steps) > 20


def test_hunger_and_thirst_end_a_life() -> None:
    sizes = Sizes(energy=5, water=5, health=3)
    steps = lived(World(Rules.drawn(0), sizes), 0, [ACTIONS.index("wait")] * 8)
    assert [died for _, _, died, _, _ in steps] == [False] * 8 + [True]


def test_a_world_ends_after_its_ticks() -> None:
    steps = lived(World(Rules.drawn(0), Sizes(ticks=3)), 0, [ACTIONS.index("wait")] * 3)
    assert [over for _, _, _, over, _ in steps] == [False, False, False, True]


def test_a_moment_tells_the_body_and_the_nearest_thing_first() -> None:
    world = World(Rules.drawn(0))
    moment = sensed(world.reset(seed=3)[0], world.sizes)
    reported = moment.reported()
    assert reported.startswith("Body: health 10/10, energy 40/40, water 40/40.\nIn sight: ")
    assert reported.split("In sight: ")[1].startswith(moment.kinds[0])
    assert "natures" not in reported
    assert not {"food", "danger", "remedy"} & set(reported.split())
