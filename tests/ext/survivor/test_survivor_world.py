"""The survivor's world rewards knowledge: an example of the acceptance, and the whole in a soak."""

import statistics

import pytest

from acc_ace.ext.survivor.world_rules import Sizes
from bench.survivor_world import BEST, Known, checks, newcomers, random_life, survivor_life

SIZES = Sizes(steps=600)


def test_who_knows_lives_to_the_end_and_who_does_not_lives_longer_than_by_chance() -> None:
    seeds = range(3)
    oracle = [survivor_life(seed, seed, SIZES)[0] for seed in seeds]
    newcomers = [survivor_life(seed, seed, SIZES, known=Known())[0] for seed in seeds]
    chance = [random_life(seed, SIZES) for seed in seeds]
    assert {life.steps for life in oracle} == {600}
    middle = [statistics.median(life.ticks for life in lives) for lives in (chance, newcomers)]
    assert middle[0] < middle[1] < statistics.median(life.ticks for life in oracle)


@pytest.mark.parametrize(
    ("who", "ticks"),
    [("first", 59), ("first", 201), ("last", 199), ("oracle", 999), ("chance", 34)],
)
def test_a_number_beyond_its_bound_is_a_miss(who: str, ticks: int) -> None:
    accepted = {"first": 100, "last": 200, "oracle": 1_000, "chance": 33}
    assert all(check.holds for check in checks({name: [n] for name, n in accepted.items()}))
    worse = {name: [n] for name, n in (accepted | {who: ticks}).items()}
    assert not all(check.holds for check in checks(worse))


@pytest.mark.soak
def test_a_newcomer_lives_by_prudence_and_later_lives_twice_as_long() -> None:
    lives = [newcomers(seed, lives=3, ticks=250) for seed in range(20)]
    ticks = {"first": [each[0] for each in lives], "last": [each[-1] for each in lives]}
    chance = [random_life(seed, Sizes()).ticks for seed in range(20)]
    found = checks({**ticks, "chance": chance, "oracle": [1_000_000]})
    assert [check.what for check in found if not check.holds] == []


@pytest.mark.soak
def test_who_knows_all_natures_lives_ten_times_as_long() -> None:
    # Ten times a first life are some 6,000 steps; the bench lives those of twenty worlds.
    first = statistics.median(newcomers(seed, lives=1, ticks=250)[0] for seed in range(20))
    sizes = Sizes(steps=6_500)
    best = [survivor_life(seed, 100_003 * seed + 1, sizes)[0].ticks for seed in range(10)]
    assert statistics.median(best) >= BEST * first
