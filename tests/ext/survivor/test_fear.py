"""Fear follows from damage that was lived, curiosity from outcomes that were new."""

from dataclasses import replace
from math import log2

import pytest

from acc_ace.ext.survivor.exploration import CELL_BITS, Outlook
from acc_ace.ext.survivor.fear import BASE_RATE, WINDOW, Experience, Fear, is_damaged
from acc_ace.ext.survivor.planner import Belief
from acc_ace.ext.survivor.world_rules import Nature
from bench.survivor_fear import measure
from tests.ext.survivor.moments import WELL, Step, made, moment

CALM = moment()
ON_TORUS = moment(things={(0, 0): "torus"})
WOLF_COMES = moment(creatures={(0, 2): "wolf"}, approaching=frozenset({(0, 2)}))
POISONED = made("use torus", life=-8, cause="torus")
BITTEN = made("wait", life=-5, cause="wolf")


def live(fear: Fear, outlook: Outlook, record: Step) -> float:
    """A step as a life takes it in: both learn; returns the bits."""
    fear.observe(outlook, record)
    return fear.experience.observe(outlook, record, 0)


def test_fear_begins_at_the_base_rate() -> None:
    assert Fear().estimate(CALM, "wait") == pytest.approx(BASE_RATE)


def test_one_damage_teaches_to_fear_the_use_that_did_it_and_not_the_calm() -> None:
    fear = Fear()
    live(fear, ON_TORUS, POISONED)
    assert fear.estimate(ON_TORUS, "use torus") > 0.6
    assert fear.estimate(CALM, "wait") < 0.3


def test_a_kind_that_harmed_is_feared_more_than_one_that_fed() -> None:
    fear = Fear()
    live(fear, ON_TORUS, POISONED)
    live(fear, moment(things={(0, 0): "cone"}), made("use cone", food=20, cause="cone"))
    on_cone = moment(things={(0, 0): "cone"})
    assert fear.estimate(ON_TORUS, "use torus") > fear.estimate(on_cone, "use cone")
    assert fear.harm("torus", 0) > fear.harm("slab", 0) > fear.harm("cone", 0)


def test_what_is_not_known_is_feared_the_more_the_more_kinds_have_harmed() -> None:
    fear = Fear()
    feared = [fear.harm("slab", 0)]
    for kind in ("torus", "disc", "star"):
        live(fear, moment(things={(0, 0): kind}), made(f"use {kind}", life=-8, cause=kind))
        feared.append(fear.harm("slab", 0))
    assert feared == sorted(set(feared))


def test_what_harmed_is_feared_in_another_season_until_it_shows_another_nature() -> None:
    fear = Fear()
    for _ in range(5):
        live(fear, ON_TORUS, POISONED)
    assert fear.harm("torus", 1) > 0.8
    for _ in range(3):
        live(fear, replace(ON_TORUS, season=1), made("use torus", water=20, cause="torus"))
    assert fear.harm("torus", 1) < 0.3
    assert fear.harm("torus", 0) > 0.8


def test_a_later_life_takes_over_all_that_was_learnt() -> None:
    fear = Fear()
    for outlook, record in [(WOLF_COMES, BITTEN), (ON_TORUS, POISONED)] * 4:
        live(fear, outlook, record)
    later = Fear.of(fear.text())
    assert later.text() == fear.text()
    assert later.harm("torus", 0) == fear.harm("torus", 0)
    for seen in (WOLF_COMES, CALM):
        assert later.estimate(seen, "wait") == pytest.approx(fear.estimate(seen, "wait"), abs=1e-3)


def test_a_mind_of_other_features_or_none_begins_anew() -> None:
    for text in ("", "{}", '{"features": ["always"], "weights": [1.0]}'):
        assert Fear.of(text).text() == Fear().text()


def test_a_place_where_the_body_was_hurt_is_feared() -> None:
    fear = Fear()
    there = moment(hurt=frozenset({(0, 1)}))
    for _ in range(5):
        live(fear, there, made("move east", life=-5, cause="unseen"))
    assert fear.estimate(there, "move east") > 2 * fear.estimate(CALM, "move east")


def test_damage_teaches_the_steps_up_to_three_before_it() -> None:
    fear = Fear()
    before = fear.estimate(WOLF_COMES, "wait")
    for record in (made("wait"), made("wait"), BITTEN):
        fear.observe(WOLF_COMES, record)
    bitten = fear.estimate(WOLF_COMES, "wait")
    late = Fear()
    late.observe(WOLF_COMES, made("wait"))
    for _ in range(WINDOW - 1):
        late.observe(CALM, made("wait"))
    assert bitten > before > late.estimate(WOLF_COMES, "wait")


def test_a_window_with_an_evasion_teaches_nothing() -> None:
    fear = Fear()
    fear.observe(WOLF_COMES, made("wait"))
    fear.observe(WOLF_COMES, made("move west", status="evaded"))
    fear.observe(CALM, made("wait"))
    assert fear.weights.tolist() == Fear().weights.tolist()
    # The windows after it are learned again.
    fear.observe(CALM, made("wait"))
    fear.observe(CALM, made("wait"))
    assert fear.estimate(CALM, "wait") < BASE_RATE


@pytest.mark.parametrize(
    "record",
    [
        made("wait", life=-1),
        made("use cone", life=6, cause="cone"),
    ],
)
def test_hunger_and_gains_are_no_damage(record: Step) -> None:
    assert not is_damaged(record)


def test_a_step_that_was_not_made_changes_nothing() -> None:
    fear = Fear()
    for _ in range(WINDOW):
        fear.observe(ON_TORUS, made("", wanted="use torus", status="blocked"))
    assert fear.weights.tolist() == Fear().weights.tolist()
    assert fear.harm("torus", 0) == Fear().harm("torus", 0)


def test_the_same_stream_rebuilds_the_same_fear() -> None:
    stream = [(WOLF_COMES, made("wait")), (ON_TORUS, POISONED), (WOLF_COMES, BITTEN)] * 5
    first, again = Fear(), Fear()
    for outlook, record in stream:
        live(first, outlook, record)
    for outlook, record in stream:
        live(again, outlook, record)
    assert first.text() == again.text()


def test_beliefs_raise_and_lower_the_harm_that_is_expected() -> None:
    fear = Fear()
    assert fear.harm("torus", 0, {"torus": Belief(Nature.DANGER)}) > 0.8
    assert fear.harm("torus", 0, {"torus": Belief(Nature.FOOD)}) < 0.1
    assert fear.harm("wolf", 0, {"wolf": Belief("hunter", 0.5)}) > fear.harm("wolf", 0)
    assert fear.harm("torus", 0, {"torus": Belief(None)}) == fear.harm("torus", 0)


def test_dangers_in_sight_are_what_has_harmed_or_is_held_to() -> None:
    fear = Fear()
    seen = moment(
        things={(0, 1): "torus", (0, 4): "rod", (3, 0): "cone"},
        creatures={(2, 0): "wolf"},
        approaching=frozenset({(2, 0)}),
    )
    assert fear.dangers(seen) == ()
    live(fear, ON_TORUS, POISONED)
    live(fear, WOLF_COMES, BITTEN)
    dangers = fear.dangers(seen, {"rod": Belief(Nature.DANGER), "cone": Belief(Nature.FOOD)})
    assert {(each.kind, each.is_near) for each in dangers} == {
        ("torus", True),
        ("wolf", True),
        ("rod", False),
    }
    assert not dangers[-1].is_near


def test_a_creature_that_goes_away_is_near_only_beside_the_body() -> None:
    fear, wolf = Fear(), {"wolf": Belief("hunter")}
    assert not fear.dangers(moment(creatures={(2, 0): "wolf"}), wolf)[0].is_near
    assert fear.dangers(moment(creatures={(1, 0): "wolf"}), wolf)[0].is_near


def test_estimates_stay_probabilities_whatever_is_lived() -> None:
    fear = Fear()
    for turn in range(2_000):
        fear.observe(ON_TORUS, POISONED if turn % 2 else made("use torus"))
    low = moment(body=WELL.model_copy(update={"life": 0}), terrain={})
    for outlook in (CALM, ON_TORUS, WOLF_COMES, low):
        for step in ("wait", "move north", "use torus", "use unheard-of"):
            assert 0 <= fear.estimate(outlook, step) <= 1


def test_bits_are_the_divergence_of_the_predictive_after_from_before() -> None:
    # Before: 1/5 each. After: (1 + 1/5)/2 = 0.6 for what was seen, 0.1 for the four others.
    bits = Experience().observe(ON_TORUS, POISONED, 0)
    assert bits == pytest.approx(0.6 * log2(0.6 / 0.2) + 4 * 0.1 * log2(0.1 / 0.2))


def test_what_is_known_brings_fewer_bits_and_a_surprise_more() -> None:
    experience = Experience()
    bits = [experience.observe(ON_TORUS, POISONED, 0) for _ in range(5)]
    assert bits == sorted(bits, reverse=True)
    assert experience.observe(ON_TORUS, made("use torus", food=20, cause="torus"), 0) > bits[-1]


def test_kinds_promise_less_once_known_and_more_when_the_season_changes() -> None:
    fear = Fear()
    seen = replace(ON_TORUS, places={"cone": ((5, 5),)})
    experience = fear.experience
    unknown = experience.prospects(seen)
    assert unknown.keys() == {"torus", "cone"}
    for _ in range(6):
        live(fear, seen, POISONED)
    known, later = experience.prospects(seen), experience.prospects(replace(seen, season=1))
    assert known["torus"].bits < later["torus"].bits < unknown["torus"].bits
    assert known["torus"].harm > unknown["torus"].harm


def test_cells_are_counted_and_moves_alone_bring_no_bits() -> None:
    assert Experience().observe(CALM, made("move north"), 3) == pytest.approx(3 * CELL_BITS)


@pytest.mark.parametrize(
    ("record", "known"),
    [
        (POISONED, {"torus"}),
        (made("use torus", water=19, cause="torus"), {"torus"}),
        (made("use torus", life=6, cause="torus"), {"torus"}),
        (made("use torus", food=-1, water=-1), set()),
        (made("use torus", life=1), set()),
        (made("", wanted="use torus", status="blocked"), set()),
    ],
)
def test_a_kind_is_known_when_it_did_something(record: Step, known: set[str]) -> None:
    experience = Experience()
    experience.observe(ON_TORUS, record, 0)
    assert experience.kinds_known == known


def test_a_creature_beside_the_body_is_learnt_about() -> None:
    experience = Experience()
    beside = moment(creatures={(0, 1): "wolf", (0, 4): "crow"})
    assert experience.observe(beside, made("wait"), 0) > 0
    assert experience.kinds_known == set()
    experience.observe(beside, BITTEN, 0)
    assert experience.kinds_known == {"wolf"}


def test_the_bench_of_fear_measures_lives() -> None:
    assert "AUC held out" in measure(2, 2)
