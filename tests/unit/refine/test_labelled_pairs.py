"""How well duplicates are told on the labelled pairs, and that no trap is fallen into."""

import pytest

from bench.playbook_pairs import ours, read_pairs, score
from core.domain.vectors import unit_vector

TRAPS = ("negation", "number", "name", "antonym")
"""Kinds of pairs that look alike and must never be merged."""


def test_the_labelled_set_is_as_large_and_as_mixed_as_it_says() -> None:
    pairs = [*read_pairs("dev"), *read_pairs("test")]
    texts = {half: {pair["first"] for pair in read_pairs(half)} for half in ("dev", "test")}

    assert len(pairs) >= 300
    assert not texts["dev"] & texts["test"]
    assert {pair["lang"] for pair in pairs} == {"en", "ja", "mixed"}
    assert sum(pair["sections"][0] != pair["sections"][1] for pair in pairs) >= 50


@pytest.mark.parametrize("half", ["dev", "test"])
def test_words_alone_merge_no_pair_that_is_distinct_and_most_that_are_not(half: str) -> None:
    (whole,) = (item for item in score("words", ours(), read_pairs(half)) if item.lang == "all")

    assert whole.precision == 1.0
    assert whole.recall >= 0.7


@pytest.mark.parametrize("half", ["dev", "test"])
@pytest.mark.parametrize("kind", TRAPS)
def test_no_vector_leads_past_a_negation_a_number_a_name_or_an_antonym(
    half: str, kind: str
) -> None:
    merged = [
        (pair["first"], pair["second"])
        for pair in read_pairs(half)
        if pair["kind"] == kind
        and ours(dict.fromkeys((pair["first"], pair["second"]), unit_vector([1.0, 2.0])))(pair)
    ]

    assert merged == []


@pytest.mark.parametrize("half", ["dev", "test"])
def test_a_duplicate_is_found_in_another_section_as_in_its_own(half: str) -> None:
    merges = ours()
    for pair in read_pairs(half):
        here, there = pair.copy(), pair.copy()
        here["sections"], there["sections"] = ["one", "one"], ["one", "other"]

        assert merges(here) == merges(there)
