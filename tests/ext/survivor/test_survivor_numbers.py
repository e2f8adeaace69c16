"""The survivor's numbers: an example of each, and in a soak the whole of what takes minutes."""

from collections import Counter

import pytest

from acc_ace.ext.survivor.loop import LoopOptions
from acc_ace.ext.survivor.world_rules import Sizes
from bench.survivor_curious import ARMS, fewer
from bench.survivor_curious import live as find_out
from bench.survivor_identity import difference
from bench.survivor_identity import main as identity
from bench.survivor_long import PROMPT, p99
from bench.survivor_long import live as live_long
from bench.survivor_orders import COUNTED, is_kept
from bench.survivor_orders import live as live_under_orders
from bench.survivor_orders import main as orders


def test_processes_live_the_same_life() -> None:
    assert identity(["--processes", "2", "--seeds", "1", "--ticks", "8"]) == 0


@pytest.mark.soak
@pytest.mark.parametrize("first", [0, 5, 10, 15])
def test_three_processes_live_the_same_in_twenty_worlds(first: int) -> None:
    assert identity(["--from", str(first), "--seeds", "5"]) == 0


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([["a", "b"], ["a", "b"]], ""),
        ([["a", "b"], ["a", "c"]], "seed 7: from tick 2"),
        ([["a", "b"], ["a"]], "seed 7: [1, 2] ticks"),
    ],
)
def test_a_difference_is_found_where_it_begins(runs: list[list[str]], said: str) -> None:
    assert difference(7, runs) == said


async def test_prompts_of_both_calls_are_those_that_the_store_has() -> None:
    ticks, _ = await live_long(LoopOptions(seed=3, episodes=12, ticks=12), 12)
    assert len(ticks) == 12
    assert all(500 < tick.both_calls <= PROMPT for tick in ticks)
    assert {tick.calls == 2 for tick in ticks} == {True, False}
    # A tick that makes no more than two calls has learnt nothing and planned once.
    assert all(
        not tick.learning and tick.turn == tick.both_calls for tick in ticks if tick.calls == 2
    )
    assert all(tick.learning or tick.turn > tick.both_calls for tick in ticks if tick.calls > 2)


def test_99_of_100_do_not_exceed_the_99th_percentile() -> None:
    assert p99(list(range(1, 101))) == 99
    assert p99([3]) == 3


async def test_goal_and_rules_hold_in_a_world_of_orders_with_a_thinker_that_obeys() -> None:
    counts = await live_under_orders(2, 60)
    assert counts["ticks"] == counts["ticks with goal and rules"] == 60
    assert counts["plans that obey"] > 30
    assert is_kept(counts)


@pytest.mark.soak
def test_goal_and_rules_hold_for_a_thousand_ticks() -> None:
    assert orders([]) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"ticks with goal and rules": 9},
        {"with all rules": 9},
        {"with an order": 9},
        {"violations": 1},
        {"blocked by a rule": 0},
    ],
)
def test_a_rule_that_is_missing_broken_or_never_tried_is_a_miss(wrong: dict[str, int]) -> None:
    right = dict.fromkeys(COUNTED, 10) | {"violations": 0}
    assert is_kept(Counter(right))
    assert not is_kept(Counter(right | wrong))


async def test_without_curiosity_less_ground_is_seen() -> None:
    off, on = [await find_out(0, Sizes(life=10_000), arm, 90) for arm in ARMS.values()]
    assert 0 < off.cells < on.cells
    assert 0 < off.kinds <= on.kinds


def test_fewer_is_a_share_of_all_worlds_together() -> None:
    assert fewer([(1, 2), (2, 4)]) == 0.5
    assert fewer([(4, 2), (2, 4)]) == 0
