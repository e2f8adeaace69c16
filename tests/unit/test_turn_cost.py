"""The bench of a turn's cost: break-evens, the words of its conversation, and its picture."""

import asyncio
from itertools import islice
from xml.etree import ElementTree

from bench.cost_picture import Curve, Survival, picture
from bench.incident_talk import FIRST_RULE, RULE_TURN, exchanges, first
from bench.turn_cost import SMOOTHED, break_even, take
from bench.turn_cost_contenders import CONTENDERS
from bench.turn_cost_wire import tokens_then


def test_a_growing_cost_passes_a_flat_one_per_turn_and_later_in_total() -> None:
    turns = 4 * SMOOTHED
    flat, growing = [50.5 * 10] * turns, [10.0 * turn for turn in range(1, turns + 1)]
    # A turn is compared by the mean of the thirty around it; the sums are equal at turn 100.
    assert break_even(flat, growing) == (52, 101)


def test_a_cost_that_never_passes_breaks_even_nowhere() -> None:
    assert break_even([5.0] * 9, [4.0] * 9) == (None, None)


def test_ordinary_turns_have_about_135_tokens_and_none_is_the_copy_of_another() -> None:
    talk = first(40)
    sizes = [tokens_then(each.said) + tokens_then(each.answer) for each in talk]
    assert 125 <= sum(sizes) / len(sizes) <= 145
    assert len({each.said for each in talk}) == len(talk)
    assert talk[RULE_TURN - 1].said.endswith(FIRST_RULE)


def test_the_plain_agent_keeps_the_rule_and_a_filter_of_ten_turns_loses_it() -> None:
    def lost(name: str) -> int | None:
        return asyncio.run(take(name, CONTENDERS[name], islice(exchanges(), 14))).rule_lost

    assert lost("plain ADK agent") is None
    assert lost("ADK ContextFilterPlugin") == 13


def test_the_picture_is_one_svg_whose_words_are_text() -> None:
    curves = [Curve("flat", [7_000.0] * 60), Curve("growing", [200.0 * n for n in range(60)])]
    svg = picture(curves, 36, [Survival("kept", None), Survival("dropped", 13)])
    words = [node.text for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("text")]  # noqa: S314 - our own
    assert {"turn 36", "lost at turn 13", "flat", "growing"} <= set(words)
