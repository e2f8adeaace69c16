"""The survivor's world rewards knowledge: an example of the acceptance, and the whole in a soak."""

import statistics

import pytest

from acc_ace.ext.survivor.world_rules import Sizes
from bench.survivor_world import MINDS, checks, main, random_life, survivor_life

SIZES = Sizes(steps=400)
SEEDS = range(3)


def test_who_knows_lives_long_and_who_does_not_dies_soon() -> None:
    lives = {
        name: statistics.median(survivor_life(seed, SIZES, mind).steps for seed in SEEDS)
        for name, mind in MINDS.items()
    }
    assert lives["oracle"] == 400
    assert lives["every 6"] >= 320
    assert max(lives["bold"], lives["cautious"]) <= 100
    assert statistics.median(random_life(seed, SIZES).steps for seed in SEEDS) <= 60


@pytest.mark.parametrize(
    ("who", "steps"),
    [("oracle", 1_999), ("every 6", 3_199), ("bold", 1_001), ("cautious", 39), ("random", 61)],
)
def test_a_number_beyond_its_bound_is_a_miss(who: str, steps: int) -> None:
    accepted = {"oracle": 4_000, "every 6": 4_000, "bold": 30, "cautious": 42, "random": 40}
    assert all(check.holds for check in checks({name: [n] for name, n in accepted.items()}))
    worse = {name: [n] for name, n in (accepted | {who: steps}).items()}
    assert not all(check.holds for check in checks(worse))


@pytest.mark.soak
def test_the_whole_acceptance_holds() -> None:
    assert main([]) == 0
