"""How well duplicates are told on the labelled pairs, and that no trap is fallen into."""

from datetime import UTC, datetime
from itertools import permutations

import pytest

from acc_ace.core.playbook.curation.delta_guard import CurationContext, curate
from acc_ace.core.text.duplicates import contrary, lesson_of
from bench.playbook_pairs import ours, read_pairs, score
from schemas.delta import DeltaBatch, DeltaOperation, DeltaType
from schemas.limits import Limits
from schemas.playbook import Playbook

CAUGHT = ("duplicate", "possible_duplicate")
"""What the Curator's guard says of a lesson that is there in these or in other words."""


def test_the_labelled_set_is_as_large_and_as_mixed_as_it_says() -> None:
    pairs = [*read_pairs("dev"), *read_pairs("test")]
    texts = {half: {pair["first"] for pair in read_pairs(half)} for half in ("dev", "test")}

    assert len(pairs) >= 300
    assert not texts["dev"] & texts["test"]
    assert {pair["lang"] for pair in pairs} == {"en", "ja", "mixed"}
    assert sum(pair["sections"][0] != pair["sections"][1] for pair in pairs) >= 50


@pytest.mark.parametrize("half", ["dev", "test"])
def test_no_pair_that_is_distinct_is_merged_and_few_that_are_not_go_unseen(half: str) -> None:
    pairs = read_pairs(half)
    (merged,) = (item for item in score("merged", ours(), pairs) if item.lang == "all")
    seen = sum(
        _curated(pair["first"], pair["second"]) in CAUGHT
        for pair in pairs
        if pair["label"] == "duplicate"
    )

    assert merged.precision == 1.0
    assert merged.recall >= 0.2
    assert seen >= 0.45 * (merged.found + merged.missed)


@pytest.mark.parametrize("half", ["dev", "test"])
def test_a_duplicate_is_found_in_another_section_as_in_its_own(half: str) -> None:
    merges = ours()
    for pair in read_pairs(half):
        here, there = pair.copy(), pair.copy()
        here["sections"], there["sections"] = ["one", "one"], ["one", "other"]

        assert merges(here) == merges(there)


CONTEXT = CurationContext(
    limits=Limits(), at=datetime(2026, 1, 1, tzinfo=UTC), user="", session="", turn=0, grounded=True
)


def _curated(first: str, second: str) -> str:
    """What the Curator's guard makes of a second lesson."""
    operations = [DeltaOperation(type=DeltaType.ADD, content=text) for text in (first, second)]
    return curate(Playbook(), DeltaBatch(operations=operations), CONTEXT).results[-1].reason


@pytest.mark.parametrize("half", ["dev", "test"])
def test_the_curators_guard_and_refinement_call_the_same_pairs_duplicates(half: str) -> None:
    merges = ours()
    apart = [
        (pair["first"], pair["second"])
        for pair in read_pairs(half)
        for first, second in permutations((pair["first"], pair["second"]))
        if (_curated(first, second) == "duplicate") != merges(pair)
    ]

    assert apart == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Remove old backups weekly.", "Delete old backups weekly."),
        (
            "Check replication lag prior to a failover.",
            "Check the replication lag before failover.",
        ),
    ],
)
def test_what_refinement_merges_is_no_second_bullet_to_begin_with(first: str, second: str) -> None:
    assert _curated(first, second) == "duplicate"
    assert _curated(second, first) == "duplicate"


@pytest.mark.parametrize("half", ["dev", "test"])
def test_no_pair_is_both_duplicate_and_contrary(half: str) -> None:
    assert not any(
        contrary(lesson_of(pair["first"]), lesson_of(pair["second"]))
        for pair in read_pairs(half)
        if pair["label"] == "duplicate"
    )


def test_a_contrary_in_other_words_is_held() -> None:
    assert _curated("Delete old backups weekly.", "Never remove old backups weekly.") == (
        "contradiction"
    )
