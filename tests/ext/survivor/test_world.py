"""The world keeps gymnasium's contract, repeats itself by seed, and announces its dangers."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from acc_ace.errors import InputError
from acc_ace.ext.survivor.exploration import ExplorationMap, outlook
from acc_ace.ext.survivor.planner import plan_steps
from acc_ace.ext.survivor.world import World
from acc_ace.ext.survivor.world_rules import (
    ACTIONS,
    BEASTS,
    CREATURES,
    KINDS,
    SEASONS,
    SIGNS,
    STRANGER,
    TERRAIN,
    TRADES,
    Nature,
    Sizes,
    WorldRules,
    action_of,
)
from tests.fakes.examples import examples

ENDLESS = 10_000
_GIVES = {Nature.FOOD: (100, 0, 0), Nature.WATER: (0, 80, 0), Nature.REMEDY: (0, 0, 6)}
Step = tuple[dict[str, Any], float, bool, bool, dict[str, Any]]
actions = st.lists(st.integers(0, len(ACTIONS) - 1), max_size=80)


def step(world: World, action: str) -> Step:
    return world.step(np.int64(ACTIONS.index(action)))


def lived(world: World, seed: int, steps: list[int]) -> list[object]:
    observation, info = world.reset(seed=seed)
    life: list[object] = [(_plain(observation), info)]
    for action in steps:
        observation, reward, dead, over, info = world.step(np.int64(action))
        life.append((_plain(observation), reward, dead, over, info))
    return life


def _plain(observation: dict[str, Any]) -> dict[str, object]:
    return {name: array.tolist() for name, array in observation.items()}


def walked(world: World, steps: int, seed: int, *, threshold: float = 0.9) -> list[Step]:
    """Steps of the planner that knows nothing and suffers creatures below the threshold."""
    observation, _ = world.reset(seed=seed)
    ground, life = ExplorationMap(world.sizes), list[Step]()
    for _ in range(steps):
        ground.observe(observation)
        now = outlook(observation, ground, threshold=threshold, exploration=1.0)
        plan = plan_steps(now, {})
        life.append(world.step(action_of(plan.steps[0])))
        observation = life[-1][0]
    return life


def test_gymnasium_accepts_the_world() -> None:
    check_env(World(WorldRules.drawn(0)), skip_render_check=True)


@settings(max_examples=examples(fast=10, soak=60))
@given(seed=st.integers(0, 2**31), steps=actions)
def test_the_same_seed_and_actions_give_the_same_life(seed: int, steps: list[int]) -> None:
    rules = WorldRules.drawn(seed % 7)
    assert lived(World(rules), seed, steps) == lived(World(rules), seed, steps)


@settings(max_examples=examples(fast=10, soak=60))
@given(seed=st.integers(0, 2**31), steps=actions, side=st.integers(24, 40))
def test_no_life_leaves_the_bounds(seed: int, steps: list[int], side: int) -> None:
    world = World(WorldRules.drawn(seed % 7), Sizes(side=side, places=5))
    observation, _ = world.reset(seed=seed)
    for action in steps:
        assert world.observation_space.contains(observation)
        observation = world.step(np.int64(action))[0]
    assert world.observation_space.contains(observation)


@settings(max_examples=examples(fast=10, soak=60))
@given(seed=st.integers(0, 2**31), steps=actions)
def test_natures_show_only_when_they_are_felt(seed: int, steps: list[int]) -> None:
    """Two worlds that differ in their natures alone look the same until something is used.

    The stranger, who lives by them, is left out.
    """
    rules = WorldRules.drawn(1)
    other = WorldRules(natures=WorldRules.drawn(2).natures, hunter=rules.hunter)
    assert other.natures != rules.natures
    unused = [action for action in steps if ACTIONS[action] != "use"]
    alone = Sizes(creatures=0)
    assert lived(World(rules, alone), seed, unused) == lived(World(other, alone), seed, unused)


@settings(max_examples=examples(fast=4, soak=25), deadline=None)
@given(seed=st.integers(0, 2**31), threshold=st.sampled_from([0.0, 0.9]))
def test_every_bite_is_announced_two_steps_ahead(seed: int, threshold: float) -> None:
    """By day and by night: seen approaching in two observations, first from afar."""
    world = World(WorldRules.drawn(seed), Sizes(life=ENDLESS, creatures=6))
    ground, approaches = ExplorationMap(world.sizes), list[dict[tuple[int, int], str]]()
    for observation, *_, info in walked(world, 300, seed, threshold=threshold):
        for hit in info["hits"]:
            if hit.kind in CREATURES:
                chase = _chase(approaches, hit.kind)
                assert len(chase) >= 2
                assert max(chase) >= 2
        ground.observe(observation)
        seen = outlook(observation, ground)
        approaches.append({cell: seen.creatures[cell] for cell in seen.approaching})


def _chase(approaches: list[dict[tuple[int, int], str]], kind: str) -> list[int]:
    """The greatest distances of a kind in the last observations that showed it approaching."""
    found = []
    for seen in reversed(approaches):
        far = [abs(south) + abs(east) for (south, east), name in seen.items() if name == kind]
        if not far:
            break
        found.append(max(far))
    return found


def test_hunters_bite_and_the_harmless_never_do() -> None:
    bites = set()
    for seed in range(6):
        rules = WorldRules.drawn(seed)
        life = walked(World(rules, Sizes(life=ENDLESS, creatures=6)), 200, seed)
        hits = {hit.kind for *_, info in life for hit in info["hits"]} & set(CREATURES)
        assert hits <= {rules.hunter}
        bites |= hits
    assert bites


def test_no_creature_enters_the_safe_area_where_life_comes_back() -> None:
    world = World(WorldRules.drawn(0), Sizes(creatures=8, life=12, night_sight=6))
    observation, _ = world.reset(seed=0)
    lives = []
    for _ in range(18):
        observation, *_, info = step(world, "wait")
        assert observation["is_safe"]
        assert not info["hits"]
        assert not (observation["creatures"] * (observation["terrain"] == _code("safe"))).any()
        lives.append(int(observation["body"][0]))
    assert lives == [12] * 18


def _code(terrain: str) -> int:
    return TERRAIN.index(terrain)


def _used(world: World) -> Step:
    """Walk onto the nearest thing and use it."""
    observation, _ = world.reset(seed=3)
    ground = ExplorationMap(world.sizes)
    for _ in range(60):
        ground.observe(observation)
        plan = plan_steps(outlook(observation, ground, exploration=1.0), {})
        done = world.step(action_of(plan.steps[0]))
        if done[4]["touch"]:
            return done
        observation = done[0]
    raise AssertionError("nothing was used in 60 steps")


@pytest.mark.parametrize(
    ("nature", "sizes", "felt"),
    [
        (Nature.DANGER, Sizes(), {"life": -4}),
        (Nature.DANGER, Sizes(life=3), {"life": -3}),
        (Nature.FOOD, Sizes(meal=2), {"food": 2}),
        (Nature.WATER, Sizes(drink=2), {"water": 2}),
        (Nature.REMEDY, Sizes(), {}),
    ],
    ids=["danger", "bounded", "food", "water", "nothing to heal"],
)
def test_a_touch_does_what_the_nature_says(
    nature: Nature, sizes: Sizes, felt: dict[str, int]
) -> None:
    world = World(WorldRules(natures=dict.fromkeys(KINDS, nature)), sizes)
    *_, info = _used(world)
    touch = info["touch"]
    changes = {name: points for name, points in touch._asdict().items() if name != "kind"}
    assert changes == {"life": 0, "food": 0, "water": 0} | felt


def test_what_is_used_grows_back_at_its_place() -> None:
    world = World(WorldRules.drawn(0), Sizes(life=ENDLESS, regrowth=5, creatures=0))
    observation, *_, info = _used(world)
    sight = world.sizes.sight
    kinds = []
    for _ in range(6):
        kinds.append(int(observation["things"][sight, sight]))
        observation = step(world, "wait")[0]
    assert kinds == [0] * 5 + [KINDS.index(info["touch"].kind) + 1]


def test_lava_burns_and_says_so() -> None:
    for seed in range(40):
        world = World(WorldRules.drawn(0), Sizes(creatures=0))
        world.reset(seed=seed)
        for _ in range(16):
            observation, *_, info = step(world, "north")
            if info["hits"]:
                middle = world.sizes.sight
                assert observation["terrain"][middle, middle] == _code("lava")
                assert [(hit.kind, hit.life) for hit in info["hits"]] == [("lava", -8)]
                return
    raise AssertionError("no way north leads over lava")


def test_signs_are_told_when_they_are_in_sight_and_hold_no_nature() -> None:
    told = {
        text
        for *_, info in walked(World(WorldRules.drawn(4), Sizes(life=ENDLESS)), 300, 4)
        for text in info["signs"]
    }
    assert told <= set(SIGNS)
    assert len(told) >= 4
    one = World(WorldRules.drawn(0), signs=["Here."])
    assert {text for *_, info in walked(one, 1, 0) for text in info["signs"]} <= {"Here."}


def test_hunger_and_thirst_end_a_life() -> None:
    world = World(WorldRules.drawn(0), Sizes(food=5, water=5, life=3, creatures=0))
    world.reset(seed=0)
    assert [step(world, "wait")[2] for _ in range(8)] == [False] * 7 + [True]


def test_a_world_ends_after_its_steps_and_nights_fall() -> None:
    world = World(WorldRules.drawn(0), Sizes(steps=4, day=2, night=1))
    world.reset(seed=0)
    life = [step(world, "wait") for _ in range(4)]
    assert [over for *_, over, _ in life] == [False, False, False, True]
    assert [tuple(seen["light"].tolist()) for seen, *_ in life] == [(0, 1), (1, 1), (0, 2), (0, 1)]
    dark, light = life[1][0]["terrain"], life[0][0]["terrain"]
    assert (dark[0] == 0).all()
    assert (light[0] != 0).all()


@pytest.mark.parametrize("action", [-1, len(ACTIONS)])
def test_an_action_that_is_none_is_refused(action: int) -> None:
    world = World(WorldRules.drawn(0))
    world.reset(seed=0)
    with pytest.raises(InputError, match=f"from 0 to 5, not .*{action}"):
        world.step(np.int64(action))


def test_a_world_without_room_says_so() -> None:
    with pytest.raises(InputError, match="side 12 has no room for 160 things"):
        World(WorldRules.drawn(0), Sizes(side=12, places=16)).reset(seed=0)


def test_which_kinds_harm_is_drawn_anew_and_how_many_is_not() -> None:
    drawn = [WorldRules.drawn(seed) for seed in range(30)]
    dangers = [
        frozenset(k for k, n in rules.natures.items() if n is Nature.DANGER) for rules in drawn
    ]
    assert {len(kinds) for kinds in dangers} == {5}
    assert len(set(dangers)) > 15
    assert {rules.hunter for rules in drawn} == set(BEASTS)


def test_in_each_season_but_the_first_some_kinds_have_traded_their_natures() -> None:
    for seed in range(30):
        rules = WorldRules.drawn(seed)
        assert rules.natures_in(0) == rules.natures
        for season in range(1, SEASONS):
            natures = rules.natures_in(season)
            other = {kind for kind, nature in natures.items() if nature != rules.natures[kind]}
            assert len(other) == 2 * TRADES
            assert sorted(natures.values()) == sorted(rules.natures.values())


def test_a_thing_acts_by_the_season_that_was_observed_before_the_step() -> None:
    rules, checked = WorldRules.drawn(0), 0
    for seed in range(4):
        world = World(rules, Sizes(life=ENDLESS, creatures=0, season=2, places=16))
        season = int(world.reset(seed=seed)[0]["season"])
        for observation, *_, info in walked(world, 150, seed):
            if (touch := info["touch"]) and any(touch[1:]):
                gained = (touch.food > 0, touch.water > 0, touch.life > 0, touch.life < 0)
                felt = (Nature.FOOD, Nature.WATER, Nature.REMEDY, Nature.DANGER)[gained.index(True)]
                assert felt is rules.natures_in(season)[touch.kind]
                checked += season != int(observation["season"])
            season = int(observation["season"])
    assert checked > 2


@pytest.mark.parametrize("is_foe", [False, True], ids=["friend", "foe"])
def test_the_stranger_lives_by_what_is_good_and_hunts_only_as_a_foe(is_foe: bool) -> None:
    watched, bitten = Counter[tuple[str, bool]](), 0
    for seed in range(6):
        rules = WorldRules.drawn(seed).model_copy(update={"is_foe": is_foe, "drift": {}})
        world = World(rules, Sizes(life=ENDLESS, side=14, places=2))
        for *_, info in walked(world, 400, seed):
            bitten += STRANGER in {hit.kind for hit in info["hits"]}
            if touch := info["watched"]:
                nature = rules.natures[touch.kind]
                gains = (touch.food, touch.water, touch.life)
                watched[nature, gains == _GIVES[nature]] += 1
    assert {right for _, right in watched} == {True}
    assert Nature.DANGER not in {nature for nature, _ in watched}
    assert (bitten > 0) is is_foe


def test_half_of_the_things_change_places_when_a_season_begins() -> None:
    world = World(WorldRules.drawn(0), Sizes(life=ENDLESS, season=3, creatures=0))
    things = world.reset(seed=0)[0]["things"]
    seen = [world.step(np.int64(ACTIONS.index("wait")))[0] for _ in range(12)]
    assert [int(each["season"]) for each in seen] == [0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 0]
    assert np.array_equal(seen[1]["things"], things)
    assert np.array_equal(seen[2]["things"] > 0, things > 0)
    assert not np.array_equal(seen[2]["things"], things)


def test_rules_name_every_kind_and_a_hunter() -> None:
    with pytest.raises(ValidationError, match="each of cone, cube"):
        WorldRules(natures={"cone": Nature.FOOD})
    with pytest.raises(ValidationError, match="Input should be 'wolf' or 'crow'"):
        WorldRules.model_validate({"natures": WorldRules.drawn(0).natures, "hunter": "bear"})


def test_seeds_lay_out_different_worlds() -> None:
    world = World(WorldRules.drawn(0))
    views = {str(world.reset(seed=seed)[0]["things"].tolist()) for seed in range(5)}
    assert len(views) == 5
