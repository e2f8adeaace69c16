"""Meaning and words are blended on one scale; what is unknown of one is taken from the other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.core.text.duplicates import unit_vector
from acc_ace.memory.passages import MAX_PARTS, PART_CHARS, passages_of
from acc_ace.memory.scoring import blended, nearness

cosines = st.lists(st.one_of(st.none(), st.floats(-1, 1)), max_size=30)


@given(cosines)
def test_nearness_lies_between_the_farthest_and_the_nearest(values: list[float | None]) -> None:
    found = nearness(values)
    assert all(0 <= near <= 1 for near in found if near is not None)
    assert [near is None for near in found] == [value is None for value in values]


@given(cosines, st.floats(0, 1))
def test_a_blend_never_leaves_its_scale(values: list[float | None], share: float) -> None:
    words = [0.1 * (at % 7) for at in range(len(values))]
    assert all(-1e-9 <= score <= 1 + 1e-9 for score in blended(words, nearness(values), share))


def test_without_an_embedder_words_are_left_as_they_are() -> None:
    assert blended([0.2, 0.1], [None, None], 0.5) == [0.2, 0.1]
    assert blended([0.2, 0.1], [0.0, 1.0], 0.0) == [0.2, 0.1]


def test_the_words_of_a_text_without_a_vector_stand_in_for_it() -> None:
    assert blended([0.4, 0.2, 0.4], [None, 1.0, 0.0], 0.5) == [1.0, 0.75, 0.5]


@given(st.text(max_size=20_000), st.text(max_size=2_000))
def test_passages_are_bounded_and_at_least_one(content: str, before: str) -> None:
    passages = passages_of(content, before)
    assert 1 <= len(passages) <= MAX_PARTS
    assert all(len(passage.texts[0]) <= PART_CHARS for passage in passages)


def test_every_part_of_a_long_text_is_in_some_passage() -> None:
    words = [f"word{n}" for n in range(700)]
    passages = passages_of(" ".join(words))
    reported = " ".join(passage.texts[0] for passage in passages)
    assert all(word in reported for word in words)


def test_only_the_first_part_follows_what_was_said_before() -> None:
    first, *others = passages_of("x" * 2_500, "Is it the pump?")
    assert first.texts[1].startswith("Is it the pump?\n")
    assert [len(passage.texts) for passage in others] == [1, 1]


def test_opposite_vectors_have_no_mean_so_the_first_stands() -> None:
    (passage,) = passages_of("yes", "no")
    one, other = unit_vector([1.0, 0.0]), unit_vector([-1.0, 0.0])
    assert passage.vector([one, other]) == one


@pytest.mark.parametrize("values", [[], [0.0, 0.0], [float("nan")], [float("inf")], [1.0] * 5_000])
def test_what_is_no_vector_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="a vector of"):
        unit_vector(values)


def test_the_last_digits_of_equal_cosines_decide_nothing() -> None:
    assert nearness([0.7, 0.7 + 1e-8, None, 0.7 - 1e-8]) == [1.0, 1.0, None, 1.0]
