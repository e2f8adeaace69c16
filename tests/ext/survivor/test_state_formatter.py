"""A moment survives its text; a small budget cuts what matters least, and reading never fails."""

import dataclasses
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.errors import InputError
from acc_ace.ext.survivor.exploration import Outlook, Prospect
from acc_ace.ext.survivor.planner import Belief
from acc_ace.ext.survivor.state_formatter import SLOTS, SYMBOLS, read, render
from acc_ace.ext.survivor.survival import Body, Cell
from acc_ace.ext.survivor.world_rules import CREATURES, KINDS, TERRAIN, Nature
from tests.ext.survivor.moments import WELL, moment
from tests.fakes.examples import examples

EVERYTHING = 100_000
hundredths = st.integers(0, 100).map(lambda share: share / 100)
far = st.tuples(st.integers(-60, 60), st.integers(-60, 60))


@st.composite
def outlooks(draw: st.DrawFn) -> Outlook:
    """Any moment of any world."""
    sight = draw(st.integers(1, 8))
    near = st.tuples(st.integers(-sight, sight), st.integers(-sight, sight))
    creatures = draw(st.dictionaries(near, st.sampled_from(CREATURES), max_size=6))
    body: dict[str, int] = {}
    for points in ("life", "food", "water"):
        body[f"most_{points}"] = draw(st.integers(1, 10_000))
        body[points] = draw(st.integers(0, body[f"most_{points}"]))
    places = st.lists(far, min_size=1, max_size=3).map(tuple)
    frontier = draw(st.none() | far)
    return Outlook(
        body=Body(**body),
        is_night=draw(st.booleans()),
        light_left=draw(st.integers(0, 1_000)),
        is_safe=draw(st.booleans()),
        sight=sight,
        terrain=draw(st.dictionaries(near, st.sampled_from(TERRAIN[1:]), max_size=200)),
        things=draw(st.dictionaries(near, st.sampled_from(KINDS), max_size=20)),
        creatures=creatures,
        approaching=frozenset(cell for cell in creatures if draw(st.booleans())),
        places=draw(st.dictionaries(st.sampled_from(KINDS), places)),
        safe=draw(st.none() | far),
        frontier=frontier,
        danger=draw(hundredths),
        threshold=draw(hundredths),
        exploration=draw(hundredths),
        unknown=draw(hundredths),
        season=draw(st.integers(0, 3)),
        frontier_bits=draw(hundredths) if frontier else 0.0,
        prospects=draw(
            st.dictionaries(st.sampled_from(KINDS), st.builds(Prospect, hundredths, hundredths))
        ),
    )


beliefs = st.dictionaries(
    st.sampled_from(KINDS + CREATURES),
    st.builds(Belief, st.none() | st.sampled_from([*Nature, "hunter", "harmless"])),
)


def shown(outlook: Outlook, **changes: Any) -> str:
    """The text of a moment, uncut unless the test says so."""
    return render(outlook, **{"fear": 0.0, "beliefs": {}, "max_tokens": EVERYTHING, **changes})


def places_told(outlook: Outlook, known: dict[str, Belief]) -> dict[str, tuple[Cell, ...]]:
    """Two places of sources, the nearest of what is unknown, and none of a danger."""
    most: dict[object, int] = {Nature.FOOD: 2, Nature.WATER: 2, Nature.REMEDY: 2, Nature.DANGER: 0}
    told = {
        kind: cells[: most.get(known[kind].nature, 1) if kind in known else 1]
        for kind, cells in outlook.places.items()
    }
    return {kind: cells for kind, cells in told.items() if cells}


def slots_of(text: str) -> list[str]:
    return [name for name in SLOTS if f"\n{name}: " in f"\n{text}"]


@settings(max_examples=examples(fast=60, soak=1_000), deadline=None)
@given(outlook=outlooks(), known=beliefs, risks=st.lists(st.text(max_size=60), max_size=4))
def test_what_is_not_cut_is_read_as_it_was(
    outlook: Outlook, known: dict[str, Belief], risks: list[str]
) -> None:
    text = shown(outlook, beliefs=known, risks=risks, fear=0.31, place=(7, 9))
    told = dataclasses.replace(outlook, places=places_told(outlook, known))
    assert read(text) == told
    assert read(f"A report.\nin sight: torus here\n\n{text}\n\ndanger: nearness 0.99") == told


@settings(max_examples=examples(fast=40, soak=500), deadline=None)
@given(outlook=outlooks(), budget=st.integers(0, 400))
def test_a_cut_text_keeps_its_budget_and_can_be_read(outlook: Outlook, budget: int) -> None:
    text = shown(outlook, risks=["a wolf bites"], max_tokens=budget)
    assert estimate_tokens(text) <= budget or slots_of(text) == ["basic state"]
    known = read(text)
    assert known.body.life == outlook.body.life
    assert known.things.items() <= outlook.things.items()
    assert known.creatures.items() <= outlook.creatures.items()
    assert known.terrain in ({}, outlook.terrain)
    assert known.places.items() <= places_told(outlook, {}).items()


def test_a_moment_as_the_thinker_sees_it() -> None:
    outlook = moment(
        body=WELL.model_copy(update={"life": 7, "water": 4}),
        is_night=True,
        terrain={(-1, 0): "rock", (0, 0): "plain", (1, 1): "lava"},
        things={(0, 0): "cone", (1, -1): "slab"},
        creatures={(0, 1): "wolf", (-1, -1): "crow"},
        approaching=frozenset({(0, 1)}),
        places={"disc": ((-5, 0), (7, 3))},
        safe=(0, 9),
        frontier=(-6, 2),
        danger=1.0,
        unknown=0.125,
        season=2,
        frontier_bits=1.5,
        prospects={"cone": Prospect(0.55, 0.2)},
    )
    assert shown(
        outlook,
        fear=0.42,
        beliefs={"disc": Belief(Nature.WATER)},
        risks=["wolf took 5 life\nin 1 of 2 meetings"],
        place=(3, 14),
    ) == "\n".join(
        [
            "basic state: life 7/12; night, 30 steps left; season 2; sight 1; at row 3, column 14",
            "danger: nearness 1.00; fear 0.42; threshold 0.60",
            "resources: food 40/40; water 4/30",
            "top risk: wolf took 5 life in 1 of 2 meetings",
            "in sight: wolf 1 east approaching; crow 1 north 1 west away; cone here; "
            "slab 1 south 1 west",
            "view: north first, you in the middle; o plain, R rock, L lava, x unseen",
            "xRx",
            "xox",
            "xxL",
            "top chance: for water: disc 5 north; safe area 9 east; "
            "disc at 5 north, 7 south 3 east",
            "unknownness: exploration 0.50; new 0.12; frontier 6 north 2 east; "
            "unseen there 1.50 bits; cone 0.55 bits, harm 0.20",
        ]
    )


def test_the_budget_cuts_far_places_first_and_the_basic_state_never() -> None:
    outlook = moment(
        things={(0, column): "cone" for column in (-1, 0, 1)},
        places={"disc": ((-5, 0),)},
        frontier=(4, 4),
    )
    left, text = [], shown(outlook, risks=["a wolf bites"])
    for budget in range(estimate_tokens(text), -1, -1):
        if (
            slots := slots_of(shown(outlook, risks=["a wolf bites"], max_tokens=budget))
        ) not in left:
            left.append(slots)
    gone = [next(iter(set(more) - set(less))) for more, less in pairwise(left)]
    assert gone == [
        *("top chance", "unknownness", "view", "top risk", "resources", "in sight", "danger")
    ]


def test_a_cut_slot_keeps_the_nearest_and_says_how_many_are_missing() -> None:
    things = {(0, column): "cone" for column in range(9)}
    text = shown(moment(things=things), max_tokens=60)
    assert "cone here; cone 1 east" in text
    assert "more" in text
    assert "cone 8 east" not in text


def test_the_most_needed_source_comes_first_and_what_is_not_short_is_no_chance() -> None:
    known = {
        "disc": Belief(Nature.WATER),
        "cone": Belief(Nature.FOOD),
        "rod": Belief(Nature.REMEDY),
    }
    things = {(0, 1): "cone", (1, 1): "disc", (0, 2): "rod"}
    needy = moment(body=WELL.model_copy(update={"food": 10, "water": 3}), things=things)
    assert "top chance: for water: disc 1 south 1 east; for food: cone 1 east\n" in shown(
        needy, beliefs=known
    )
    assert "for " not in shown(moment(things=things), beliefs=known)


def test_every_terrain_has_a_letter_of_its_own() -> None:
    assert set(SYMBOLS) == set(TERRAIN)
    assert len(set(SYMBOLS.values())) == len(TERRAIN)


def test_fields_that_were_cut_away_are_unknown() -> None:
    known = read("basic state: life 3/12; night, 4 steps left; sight 5")
    assert (
        dataclasses.asdict(known).items()
        >= {
            "is_night": True,
            "light_left": 4,
            "sight": 5,
            "terrain": {},
            "things": {},
            "safe": None,
            "threshold": 0.6,
        }.items()
    )
    assert (known.body.food, known.body.most_food) == (1, 1)


@pytest.mark.parametrize(
    "text",
    ["", "life 3/12", "basic state: alive", "basic state: life 3/0", "view: x\nooo\nooo"],
)
def test_a_text_without_a_basic_state_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no basic state"):
        read(text)
