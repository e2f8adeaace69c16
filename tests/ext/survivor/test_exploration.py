"""The map remembers what observations showed: ground, places and when they are ripe, safe cells."""

import numpy as np

from acc_ace.ext.survivor.exploration import MOST_PLACES, ExplorationMap, outlook
from acc_ace.ext.survivor.planner import Belief, plan_steps
from acc_ace.ext.survivor.world import Observation, World
from acc_ace.ext.survivor.world_rules import ACTIONS, CREATURES, Sizes, WorldRules

SIZES = Sizes(creatures=0, regrowth=30)
RULES = WorldRules.drawn(5)
BELIEFS = {kind: Belief(nature) for kind, nature in RULES.natures.items()}


def walk(steps: int) -> list[tuple[ExplorationMap, Observation, str]]:
    """A walk of one who knows; the map is one and the same."""
    world, ground = World(RULES, SIZES), ExplorationMap(SIZES)
    observation, _ = world.reset(seed=5)
    taken = []
    for _ in range(steps):
        ground.observe(observation)
        plan = plan_steps(outlook(observation, ground), BELIEFS).steps[0]
        taken.append((ground, observation, plan))
        word, _, target = plan.partition(" ")
        action = ACTIONS.index(target if word == "move" else word)
        observation = world.step(np.int64(action))[0]
    ground.observe(observation)
    return taken


def test_new_cells_are_counted_once() -> None:
    world, ground = World(RULES, SIZES), ExplorationMap(SIZES)
    observation, _ = world.reset(seed=5)
    new = ground.observe(observation)
    assert new == ground.cells_seen > 50
    assert ground.observe(observation) == 0
    assert ground.kinds_seen


def test_a_used_place_is_remembered_and_named_when_ripe_again() -> None:
    world, ground = World(RULES, Sizes(creatures=0, regrowth=3)), ExplorationMap(SIZES)
    ground.sizes = world.sizes
    observation, _ = world.reset(seed=5)
    used = None
    for _ in range(80):
        ground.observe(observation)
        step = plan_steps(outlook(observation, ground), BELIEFS).steps[0]
        if used is None and step.startswith("use"):
            used = (step.removeprefix("use "), ground.place)
        word, _, target = step.partition(" ")
        if used:
            word, target = ("use", "") if step.startswith("use") else ("wait", "")
        observation = world.step(np.int64(ACTIONS.index(target if word == "move" else word)))[0]
        if used:
            break
    assert used
    kind, place = used
    ripe = []
    for _ in range(5):
        ground.observe(observation)
        ripe.append(any(cell == place for _, cell in ground.ripe().get(kind, ())))
        observation = world.step(np.int64(ACTIONS.index("wait")))[0]
    assert ripe == [False, False, False, True, True]


def test_an_outlook_is_relative_and_names_few_places_out_of_sight() -> None:
    ground, observation, _ = walk(200)[-1]
    seen = outlook(observation, ground, threshold=0.7, exploration=0.2)
    sight = seen.sight
    assert seen.terrain[0, 0] != "rock"
    assert all(max(abs(south), abs(east)) <= sight for south, east in seen.terrain)
    assert seen.places
    assert all(len(cells) <= MOST_PLACES for cells in seen.places.values())
    assert not set(seen.things) & {cell for cells in seen.places.values() for cell in cells}
    assert (seen.threshold, seen.exploration) == (0.7, 0.2)
    assert seen.danger == float(observation["danger"])


def test_the_frontier_ends_where_all_is_known() -> None:
    world, ground = World(RULES, SIZES), ExplorationMap(SIZES)
    observation, _ = world.reset(seed=5)
    ground.observe(observation)
    frontier = ground.frontier()
    assert frontier
    row, column = frontier
    assert max(abs(row - ground.place[0]), abs(column - ground.place[1])) <= SIZES.sight
    ground._terrain[ground._terrain == 0] = 1
    assert ground.frontier() is None


def test_only_creatures_that_come_nearer_approach() -> None:
    sizes = Sizes(creatures=6)
    world, ground = World(RULES, sizes), ExplorationMap(sizes)
    observation, _ = world.reset(seed=1)
    middle = sizes.sight
    for name in ("creatures", "headings"):
        observation[name][:] = 0
    observation["creatures"][middle - 3, middle] = 1 + CREATURES.index("crow")
    observation["headings"][middle - 3, middle] = 2  # south, towards the body
    observation["creatures"][middle, middle + 2] = 1 + CREATURES.index("wolf")
    observation["headings"][middle, middle + 2] = 4  # east, away
    ground.observe(observation)
    seen = outlook(observation, ground)
    assert dict(seen.creatures) == {(-3, 0): "crow", (0, 2): "wolf"}
    assert seen.approaching == {(-3, 0)}
