"""Read one text for what a search wants, whatever else is found.

That is the greater part of ranking. The texts that hold the words are read while an embedder is
still at work on the question; those that are near in meaning come later.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from acc_ace.memory.scoring import (
    CorpusStatistics,
    Letters,
    coverage,
    found_terms,
    letters,
    rarity,
    saturated,
    trigrams,
)


class Wanted(NamedTuple):
    """What is looked for in every text."""

    statistics: CorpusStatistics
    text: Mapping[str, float]
    """The terms of x_t with their weights."""
    state: Mapping[str, float]
    """Those of the state."""
    terms: Mapping[str, float]
    """Both, those of x_t first."""
    weight: float
    """Of all terms of x_t together."""
    trigrams: Sequence[str]
    """Those of the terms of x_t; none when letters do not count."""


class Reading(NamedTuple):
    """What a text holds of it."""

    found: Mapping[str, float]
    """BM25 score of each term."""
    words: float
    """Share of the weight of x_t, 0..1."""
    state: float
    """How well it fits the state, 0..1."""
    letters: Letters | None
    """None for a text without a term of x_t: letters lift a match, they never make one."""


def wanted(
    text: Iterable[str],
    state: Iterable[str],
    statistics: CorpusStatistics,
    *,
    with_letters: bool,
) -> Wanted:
    """What to look for, from the terms of x_t and of the state."""
    asked = {term: rarity(term, statistics) for term in text}
    around = {term: rarity(term, statistics) for term in state}
    parts = trigrams(asked) if with_letters else []
    return Wanted(statistics, asked, around, asked | around, sum(asked.values()), parts)


def read(terms: str, wanted: Wanted) -> Reading:
    """What the text of these index terms holds."""
    found = found_terms(terms, wanted.terms, wanted.statistics)
    words = coverage(found, wanted.text, wanted.weight)
    held = letters(terms, wanted.trigrams) if words else None
    return Reading(found, words, saturated(found, wanted.state), held)
