"""Lessons that were not written by the author of the rules: which are merged, held, kept apart.

Assertions are on counts, so that a failure does not show the held half to whoever mends it.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from bench.playbook_pairs import DATA, Pair, caught, ours

HALVES = ("lessons_dev", "lessons_held")


def _judged(half: str, data: Path = DATA) -> Counter[tuple[str, str]]:
    """How many pairs of each relation were merged, held for a person, or kept apart."""
    merges, found = ours(), Counter[tuple[str, str]]()
    for line in (data / f"{half}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        pair = Pair(
            first=row["a"], second=row["b"], label="", lang=row["lang"], kind="", sections=["s"] * 2
        )
        end = "merged" if merges(pair) else "held" if caught(pair) else "apart"
        found[row["relation"], end] += 1
    return found


@pytest.mark.parametrize("half", HALVES)
def test_no_lesson_is_merged_with_another_that_says_anything_else(half: str) -> None:
    judged = _judged(half)

    assert sum(judged.values()) >= 90
    assert judged["contrary", "merged"] == judged["different", "merged"] == 0


@pytest.mark.parametrize("half", HALVES)
def test_most_lessons_in_other_words_are_merged_or_held(half: str) -> None:
    judged = _judged(half)
    seen = judged["duplicate", "merged"] + judged["duplicate", "held"]

    assert seen >= 0.6 * (seen + judged["duplicate", "apart"])


@pytest.mark.parametrize("half", HALVES)
def test_few_lessons_that_say_something_else_wait_for_a_person(half: str) -> None:
    judged = _judged(half)
    others = sum(count for (relation, _), count in judged.items() if relation != "duplicate")

    assert judged["contrary", "held"] + judged["different", "held"] <= 0.2 * others
