"""Rank artifacts by relevance to x_t and, with less weight, to the terms of CCS_{t-1}.

Scores are BM25 (Robertson and Zaragoza, 2009), saturated to 0..1 so that the state can lift an
artifact that x_t also wants, or bring one in when x_t says little ("do it"), but can never
outvote a clear match of x_t itself.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from core.domain.search_terms import query_terms
from core.domain.tokens import clip_tokens, estimate_tokens
from schemas.artifact import Artifact, RecalledArtifact, RecallQuery

STATE_WEIGHT = 0.4
"""Weight of the state's terms beside x_t's 1.0."""

PREVIOUS_TURN = "previous turn"
"""The reason that the newest TURN artifact of a session is always a candidate."""

_K1 = 1.2
_B = 0.75
_HALF_SCORE = 3.0
"""BM25 score that counts as half of a perfect match: about one rare term."""

_MIN_TOKENS = 32
"""A candidate cut shorter than this helps nobody; fewer candidates are returned instead."""

_SHOWN_WORDS = 6


class SearchQuery(NamedTuple):
    """What is looked for: each term with the word or state item that it came from."""

    text: Mapping[str, str]
    state: Mapping[str, str]

    @property
    def terms(self) -> list[str]:
        """All terms, those of x_t first."""
        return [*self.text, *self.state]


class Document(NamedTuple):
    """What is ranked: an artifact's id, age and index terms, as `index_terms` gave them."""

    artifact_id: str
    created_at: float
    terms: str


class Ranked(NamedTuple):
    """A document that matches, with its score (higher is better) and the reasons why."""

    artifact_id: str
    created_at: float
    score: float
    why: list[str]


class CorpusStatistics(NamedTuple):
    """What BM25 needs to know of all the tenant's artifacts."""

    documents: int
    mean_length: float
    frequencies: Mapping[str, int]


def search_query(query: RecallQuery) -> SearchQuery:
    """The terms of a query; a term of x_t is not counted again for the state."""
    text = query_terms(query.text)
    state: dict[str, str] = {}
    for item in query.state_terms:
        for term in query_terms(item, limit=8):
            if term not in text:
                state.setdefault(term, item)
    return SearchQuery(text, dict(list(state.items())[:24]))


def rank(
    documents: Iterable[Document], query: SearchQuery, statistics: CorpusStatistics
) -> list[Ranked]:
    """Rank the documents that match, best first, with the reasons why."""
    weights = {term: _rarity(term, statistics) for term in query.terms}
    ranked = []
    for document in documents:
        found = _found(document, weights, statistics)
        if found:
            score = _saturated(found, query.text) + STATE_WEIGHT * _saturated(found, query.state)
            why = _why(found, query)
            ranked.append(Ranked(document.artifact_id, document.created_at, round(score, 6), why))
    return sorted(ranked, key=_best_first)


def shortlist(
    ranked: Sequence[Ranked], previous: Document | None, *, limit: int, max_tokens: int
) -> list[Ranked]:
    """The best of the ranked within `limit`, the session's previous turn always among them."""
    room = min(limit, max(1, max_tokens // _MIN_TOKENS))
    if previous is None:
        return list(ranked[:room])
    others = [item for item in ranked if item.artifact_id != previous.artifact_id]
    known = [item for item in ranked if item.artifact_id == previous.artifact_id]
    score, why = (known[0].score, known[0].why) if known else (0.0, [])
    item = Ranked(previous.artifact_id, previous.created_at, score, [*why, PREVIOUS_TURN])
    return sorted([*others[: room - 1], item], key=_best_first)


def fit(
    shortlisted: Sequence[Ranked], artifacts: Mapping[str, Artifact], *, max_tokens: int
) -> list[RecalledArtifact]:
    """The artifacts of a shortlist within `max_tokens` together.

    When they are too long, the longest are cut, all to the same length; none is dropped.
    """
    found = [item for item in shortlisted if item.artifact_id in artifacts]
    texts = [clip_tokens(artifacts[item.artifact_id].content, max_tokens) for item in found]
    level = _level([estimate_tokens(text) for text in texts], max_tokens)
    return [
        RecalledArtifact(
            artifact=artifacts[item.artifact_id].model_copy(
                update={"content": clip_tokens(text, level)}
            ),
            score=item.score,
            why=item.why,
        )
        for item, text in zip(found, texts, strict=True)
    ]


def _level(lengths: Sequence[int], budget: int) -> int:
    """The greatest length to which all must be cut so that their sum is within the budget."""
    left, level = budget, budget
    for done, length in enumerate(sorted(lengths)):
        level = left // (len(lengths) - done)
        if length > level:
            return level
        left -= length
    return budget


def _rarity(term: str, statistics: CorpusStatistics) -> float:
    containing = min(statistics.frequencies.get(term, 0), statistics.documents)
    return math.log(1 + (statistics.documents - containing + 0.5) / (containing + 0.5))


def _found(
    document: Document, weights: Mapping[str, float], statistics: CorpusStatistics
) -> dict[str, float]:
    """BM25 score of each term that the document holds."""
    padded = f" {document.terms} "
    length = (document.terms.count(" ") + 1) / max(statistics.mean_length, 1.0)
    found = {}
    for term, weight in weights.items():
        # Neighbours share one space, so 'a a' counts once; close enough for a saturating score.
        count = padded.count(f" {term} ")
        if count:
            found[term] = weight * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length))
    return found


def _saturated(found: Mapping[str, float], wanted: Mapping[str, str]) -> float:
    score = sum(value for term, value in found.items() if term in wanted)
    return score / (score + _HALF_SCORE)


def _why(found: Mapping[str, float], query: SearchQuery) -> list[str]:
    best = sorted(found, key=lambda term: -found[term])
    words = list(dict.fromkeys(query.text[term] for term in best if term in query.text))
    items = list(dict.fromkeys(query.state[term] for term in best if term in query.state))
    reasons = [f"words: {', '.join(words[:_SHOWN_WORDS])}"] if words else []
    for item in items[:_SHOWN_WORDS]:
        reasons.append(f"{'entity' if _is_entity(item) else 'state'}: {clip_tokens(item, 16)}")
    return reasons


def _is_entity(item: str) -> bool:
    kind, colon, name = item.partition(":")
    return bool(colon) and kind.isidentifier() and bool(name.strip())


def _best_first(item: Ranked) -> tuple[float, float, str]:
    """Best first; of equals the newest, then by id, so that the order never depends on luck."""
    return (-item.score, -item.created_at, item.artifact_id)
