"""Score terms by BM25 (Robertson and Zaragoza, 2009), and blend it with semantic similarity.

A score is a share of what could be found.
"""

import math
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

K1 = 0.9
B = 0.4
"""The defaults of Anserini (Yang et al., 2017): texts of turns differ little in length."""

TRIGRAM = 3

MAX_LETTERS = 8_000
"""Characters of one document whose trigrams are looked at."""

_HALF_SCORE = 3.0
"""BM25 score of state terms that counts as half of a perfect match: about one rare term."""


class CorpusStatistics(NamedTuple):
    """What BM25 needs to know of all the tenant's artifacts."""

    documents: int
    mean_length: float
    frequencies: Mapping[str, int]


def rarity(term: str, statistics: CorpusStatistics) -> float:
    """The weight of a term: the rarer, the higher."""
    containing = min(statistics.frequencies.get(term, 0), statistics.documents)
    return math.log(1 + (statistics.documents - containing + 0.5) / (containing + 0.5))


def found_terms(
    terms: str, weights: Mapping[str, float], statistics: CorpusStatistics
) -> dict[str, float]:
    """BM25 score of each weighted term that a document of `terms` holds."""
    words = terms.split()
    common = weights.keys() & words
    if not common:
        return {}
    damping = K1 * (1 - B + B * len(words) / max(statistics.mean_length, 1.0))
    result = {}
    # In the order of the query, so that sums and reasons are deterministic.
    for term in weights:
        if term in common:
            count = words.count(term)
            result[term] = weights[term] * count * (K1 + 1) / (count + damping)
    return result


def coverage(terms: Mapping[str, float], wanted: Container[str], weight: float) -> float:
    """The share of the wanted terms' `weight`, all taken together, that was found, 0..1."""
    return min(1.0, _sum(terms, wanted) / (weight or 1.0))


def saturated(terms: Mapping[str, float], wanted: Container[str]) -> float:
    """Saturated share of the terms found, 0..1: not all of them are expected."""
    score = _sum(terms, wanted)
    return score / (score + _HALF_SCORE)


class Letters(NamedTuple):
    """Which of the wanted trigrams a document holds, in their order, and its length in words."""

    trigrams: Sequence[str]
    length: int


def trigrams(terms: Iterable[str]) -> list[str]:
    """The trigrams of terms, each once; a term shorter than one is taken whole."""
    return list(dict.fromkeys(part for term in terms for part in _trigrams(term)))


def letters(terms: str, wanted: Iterable[str]) -> Letters:
    """The letters of a document of `terms`. How often it holds a trigram does not count."""
    padded = f" {terms[:MAX_LETTERS]} "
    # Length in words: of texts with as many words, one with longer words is no worse.
    return Letters([part for part in wanted if part in padded], padded.count(" ") - 1)


def letter_coverage(documents: Sequence[Letters], wanted: Iterable[str]) -> list[float]:
    """For each document, the share of the wanted trigrams that it holds, 0..1.

    Finds other forms of a word ('adoption', 'adopting') where stems differ. Each trigram weighs
    as much as it is rare among `documents`.
    """
    counts = Counter(chain.from_iterable(document.trigrams for document in documents))
    mean = max(1.0, sum(document.length for document in documents) / max(1, len(documents)))
    statistics = CorpusStatistics(len(documents), mean, counts)
    weights = {part: rarity(part, statistics) for part in wanted}
    total = sum(weights.values())
    scores = []
    for grams, length in documents:
        common = sum(map(weights.__getitem__, grams))
        damping = K1 * (1 - B + B * length / mean)
        scores.append(min(1.0, common * (K1 + 1) / (1 + damping) / total) if total else 0.0)
    return scores


def _sum(terms: Mapping[str, float], wanted: Container[str]) -> float:
    return sum([value for term, value in terms.items() if term in wanted])


def _trigrams(term: str) -> list[str]:
    padded = f" {term} "
    if len(term) < TRIGRAM:
        return [padded]
    return [padded[at : at + TRIGRAM] for at in range(len(padded) - TRIGRAM + 1)]


LEAST_SPAN = 1e-3
"""Cosines nearer together than that are equal: vectors are stored to about half of it."""


def nearness(cosines: Sequence[float | None]) -> list[float | None]:
    """Each cosine between the least (0) and the greatest (1) of the pool; None stays unknown."""
    known = [cosine for cosine in cosines if cosine is not None]
    if not known:
        return list(cosines)
    least, span = min(known), max(known) - min(known)
    return [
        None if cosine is None else (cosine - least) / span if span > LEAST_SPAN else 1.0
        for cosine in cosines
    ]


def blended(words: Sequence[float], near: Sequence[float | None], share: float) -> list[float]:
    """The score of each text, `share` of it by nearness, the rest by words.

    Where nothing is known of nearness, all words are left as they are; where it is known of
    others only, the words of a text are used instead.
    """
    if not share or all(close is None for close in near):
        return list(words)
    best = max(words, default=0.0) or 1.0
    return [
        lexical / best + share * ((lexical / best if close is None else close) - lexical / best)
        for lexical, close in zip(words, near, strict=True)
    ]
