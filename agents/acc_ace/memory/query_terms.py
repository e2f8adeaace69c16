"""Match one text against the terms of a query, independently of other texts.

That is the greater part of ranking. Lexical matches are scored while an embedder still works on the
query; semantic ones come later.
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

_FADING = 0.95
"""What a term of the state counts of the one before it: what is newest is named first."""


class QueryTerms(NamedTuple):
    """The weighted terms that every text is matched against."""

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


class TermMatches(NamedTuple):
    """Scores of the query's terms in one text."""

    found: Mapping[str, float]
    """BM25 score of each term."""
    words: float
    """Share of the weight of x_t, 0..1."""
    state: float
    """How well it fits the state, 0..1."""
    letters: Letters | None
    """None for a text without a term of x_t: letters lift a match, they never make one."""


def weighted_terms(
    text: Iterable[str],
    state: Iterable[str],
    statistics: CorpusStatistics,
    *,
    with_letters: bool,
) -> QueryTerms:
    """Weight the terms of x_t and of the state by rarity; those of the state by place too."""
    weights = {term: rarity(term, statistics) for term in text}
    around = {term: _FADING**at * rarity(term, statistics) for at, term in enumerate(state)}
    parts = trigrams(weights) if with_letters else []
    return QueryTerms(statistics, weights, around, weights | around, sum(weights.values()), parts)


def match_terms(terms: str, query: QueryTerms) -> TermMatches:
    """Score a text, given as its index terms."""
    weights = found_terms(terms, query.terms, query.statistics)
    words = coverage(weights, query.text, query.weight)
    grams = letters(terms, query.trigrams) if words else None
    return TermMatches(weights, words, saturated(weights, query.state), grams)


OWN_ENDS = "\n"
"""Divides the terms of a text: before it the user's own words, behind it what others said."""


class TextMatches(NamedTuple):
    """What a text holds, and what of it the user said; the same where nothing divides it."""

    whole: TermMatches
    own: TermMatches


def match_text(terms: str, query: QueryTerms) -> TextMatches:
    """Score a text, given as its terms, and the user's part in it."""
    own, ends, others = terms.partition(OWN_ENDS)
    whole = match_terms(f"{own} {others}".strip(), query)
    return TextMatches(whole, match_terms(own, query) if ends else whole)
