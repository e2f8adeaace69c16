"""Rank artifacts by relevance to x_t and, with less weight, to the terms of CCS_{t-1}.

The text score blends words and trigrams, each as a share of what x_t asks for (`bm25`); what the
user said counts more than what was answered (`RecallWeights.own`). The state can lift an artifact
that x_t also wants, or bring one in when x_t says little ("do it"), but can never outvote a clear
match of x_t itself. The place of a turn then counts too (`priors`), and whether it is of a time
that x_t names.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import tzinfo
from typing import NamedTuple

from acc_ace.core.schemas.artifact import Artifact, RecalledArtifact, RecallQuery
from acc_ace.core.schemas.limits import RecallWeights
from acc_ace.core.text.dates.periods import Period, named_periods
from acc_ace.core.text.search_terms import MAX_QUERY_CHARS, query_terms, terms_of
from acc_ace.core.text.tokens import clip_tokens, estimate_tokens
from acc_ace.memory.chunking import excerpt
from acc_ace.memory.priors import Prior, TurnPosition, priors
from acc_ace.memory.query_terms import (
    OWN_ENDS,
    QueryTerms,
    TermMatches,
    TextMatches,
    match_text,
    weighted_terms,
)
from acc_ace.memory.scoring import CorpusStatistics, blended, letter_coverage, nearness

__all__ = [
    "OWN_ENDS",
    "CorpusStatistics",
    "Document",
    "Ranked",
    "SearchQuery",
    "best_first",
    "fit",
    "fitted",
    "rank",
    "search_query",
    "shortlist",
    "term_matches",
]

PREVIOUS_TURN = "previous turn"
"""The reason that the newest TURN artifact of a session is always a candidate."""

TIME_NAMED = "time named"
"""The reason that x_t names the time an artifact was made at."""

ANY_DOCUMENT = "part:"
"""Prefix of the ids of all parts of documents."""

IN_SESSION = "\x1f"
"""Divides the group of a document from a session of a conversation that it holds."""

ANY_TURN = "turn:"
"""Prefix of the ids of all turns."""

DEFAULT_WEIGHTS = RecallWeights()

MOST_RANKED = 100
"""Maximum results of a query."""

_MIN_TOKENS = 32
"""Minimum tokens of a cut candidate; below it, fewer candidates are returned instead."""

_LEAST_STATE = 0.1
"""Share of its weight that the state keeps when a document covers all of x_t."""

_LEAST_STATE_OF_FUSED = 0.5
"""With an embedder: texts with the same words are never quite as near, so a tie is broad there."""

_TIME_ALONE = 0.5
"""Share of its weight that a time keeps for what has nothing else of x_t."""

_SHOWN_WORDS = 6

_CLOSE = 0.5
"""From here on, between the farthest and the nearest of a pool, nearness is given as a reason."""


class SearchQuery(NamedTuple):
    """What is looked for: each term with the word or state item that it came from."""

    text: Mapping[str, str]
    state: Mapping[str, str]
    said: frozenset[str] = frozenset()
    """All terms of x_t, stop words too: a name may be one ('Will')."""
    periods: tuple[Period, ...] = ()
    """Times that x_t names."""

    @property
    def terms(self) -> list[str]:
        """All terms, those of x_t first."""
        return [*self.text, *self.state]


class Document(NamedTuple):
    """What is ranked: an artifact's id, age, index terms (as `divided_terms` gave them), place."""

    artifact_id: str
    created_at: float
    terms: str
    place: TurnPosition = TurnPosition()


class Ranked(NamedTuple):
    """A document that matches, with its score (higher is better) and the reasons why."""

    artifact_id: str
    created_at: float
    score: float
    why: list[str]


def search_query(query: RecallQuery) -> SearchQuery:
    """The terms of a query; a term of x_t is not counted again for the state."""
    text = query_terms(query.text)
    state: dict[str, str] = {}
    for item in query.state_terms:
        for term in query_terms(item, limit=8):
            if term not in text:
                state.setdefault(term, item)
    words = terms_of(query.text[:MAX_QUERY_CHARS])
    periods = named_periods(query.text, query.asked_at) if query.asked_at else ()
    return SearchQuery(text, dict(list(state.items())[:24]), words, periods)


def term_matches(
    documents: Iterable[Document],
    query: SearchQuery,
    statistics: CorpusStatistics,
    *,
    weights: RecallWeights = DEFAULT_WEIGHTS,
) -> dict[str, TextMatches]:
    """What each document holds, by its terms: the part of `rank` that need not wait for others."""
    look = _query_terms(query, statistics, weights)
    return {document.terms: match_text(_divided(document), look) for document in documents}


def rank(
    documents: Iterable[Document],
    query: SearchQuery,
    statistics: CorpusStatistics,
    *,
    weights: RecallWeights = DEFAULT_WEIGHTS,
    limit: int = MOST_RANKED,
    also: str | None = None,
    cosines: Mapping[str, float] | None = None,
    early: Mapping[str, TextMatches] | None = None,
) -> list[Ranked]:
    """The best `limit` documents that match or are next to one that does, with the reasons.

    `cosines` says how near a document is to x_t in meaning, by id, where that is known. `early`
    is what `term_matches` gave for some of the documents with the same query and weights.
    The document with the id `also` is returned too if it matches, however far behind, for
    `shortlist` to give it its place.
    """
    known = list(documents)
    look = _query_terms(query, statistics, weights)
    done = early or {}
    texts = [done.get(each.terms) or match_text(_divided(each), look) for each in known]
    near = nearness([(cosines or {}).get(document.artifact_id) for document in known])
    scores = _own_scores(texts, look, weights=weights, near=near)
    around = priors([_place(document) for document in known], scores, query.said, weights)
    dated = _dated(known, scores, query.periods, weights.period)
    totals = [
        round(score + prior.score + date, 6)
        for score, prior, date in zip(scores, around, dated, strict=True)
    ]
    matching = [
        at
        for at, prior in enumerate(around)
        if scores[at] or dated[at] or prior.neighbour is not None
    ]
    matching.sort(key=lambda at: best_first(totals[at], known[at]))
    return [
        Ranked(
            known[at].artifact_id,
            known[at].created_at,
            totals[at],
            [
                *_why_near(near[at]),
                *_why(texts[at].whole.found, query),
                *_why_there(around[at], known),
                *([TIME_NAMED] if dated[at] else []),
            ],
        )
        for place, at in enumerate(matching)
        if place < limit or known[at].artifact_id == also
    ]


def _place(document: Document) -> TurnPosition:
    """Position of a turn in its conversation; chunks of other documents have none."""
    if document.artifact_id.startswith(ANY_DOCUMENT):
        is_talk = IN_SESSION in (document.place.session or "")
        return document.place if is_talk else TurnPosition()
    own, ends, others = _divided(document).partition(OWN_ENDS)
    return document.place._replace(is_exchange=bool(ends and own and others))


def _divided(document: Document) -> str:
    """Its terms, the user's before OWN_ENDS; turns stored before 2026-11-27 have no such mark."""
    if OWN_ENDS in document.terms or not document.artifact_id.startswith(ANY_TURN):
        return document.terms
    return document.terms.replace(" agent ", f"{OWN_ENDS}agent ", 1)


def _dated(
    documents: Sequence[Document],
    scores: Sequence[float],
    periods: Sequence[Period],
    weight: float,
) -> list[float]:
    """Bonus of each document for being of a time that x_t names."""
    spans = [(period.start.timestamp(), period.end.timestamp()) for period in periods]
    return [
        weight * (1.0 if own else _TIME_ALONE)
        if any(start <= document.created_at < end for start, end in spans)
        else 0.0
        for document, own in zip(documents, scores, strict=True)
    ]


def _query_terms(
    query: SearchQuery, statistics: CorpusStatistics, weights: RecallWeights
) -> QueryTerms:
    return weighted_terms(query.text, query.state, statistics, with_letters=bool(weights.letters))


def _own_scores(
    texts: Sequence[TextMatches],
    look: QueryTerms,
    *,
    weights: RecallWeights,
    near: Sequence[float | None],
) -> list[float]:
    """Score of each document's own text."""
    # The more of x_t one document covers, the less the state decides: then it only breaks ties.
    least = _LEAST_STATE if all(close is None for close in near) else _LEAST_STATE_OF_FUSED
    best = max((text.whole.words for text in texts), default=0.0)
    state = weights.state * max(least, 1.0 - best)
    wholes = [text.whole for text in texts]
    # The same where nothing is divided, which is most often so for documents.
    owns = [text.own for text in texts]
    by_words = _by_words(wholes, look, weights)
    if any(own is not whole for own, whole in zip(owns, wholes, strict=True)):
        by_words = _with_own(by_words, _by_words(owns, look, weights), weights.own)
    states = _with_own([whole.state for whole in wholes], [own.state for own in owns], weights.own)
    return [
        score + state * around
        for score, around in zip(blended(by_words, near, weights.dense), states, strict=True)
    ]


def _by_words(
    texts: Sequence[TermMatches], look: QueryTerms, weights: RecallWeights
) -> list[float]:
    matching = [text.letters for text in texts if text.letters is not None]
    letters = iter(letter_coverage(matching, look.trigrams))
    return [
        weights.words * text.words
        + weights.letters * (0.0 if text.letters is None else next(letters))
        for text in texts
    ]


def _with_own(whole: Sequence[float], own: Sequence[float], weight: float) -> list[float]:
    """The mean of the scores of a text and of the user's part in it, which has the weight."""
    return [(text + weight * part) / (1.0 + weight) for text, part in zip(whole, own, strict=True)]


def shortlist(
    ranked: Sequence[Ranked], previous: Document | None, *, limit: int, max_tokens: int
) -> list[Ranked]:
    """The first of the ranked within `limit`, the previous turn always among them, best first."""
    room = min(limit, max(1, max_tokens // _MIN_TOKENS))
    if previous is None:
        return sorted(ranked[:room], key=lambda item: best_first(item.score, item))
    others = [item for item in ranked if item.artifact_id != previous.artifact_id]
    known = [item for item in ranked if item.artifact_id == previous.artifact_id]
    score, why = (known[0].score, known[0].why) if known else (0.0, [])
    reasons = [*(reason for reason in why if reason != PREVIOUS_TURN), PREVIOUS_TURN]
    item = Ranked(previous.artifact_id, previous.created_at, score, reasons)
    return sorted([*others[: room - 1], item], key=lambda item: best_first(item.score, item))


def fit(
    shortlisted: Sequence[Ranked],
    artifacts: Mapping[str, Artifact],
    *,
    max_tokens: int,
    each: int | None = None,
    terms: Collection[str] = (),
) -> list[RecalledArtifact]:
    """Fit a shortlist into `max_tokens`, each artifact into `each`.

    When they are too long, the longest are cut, all to the same length; none is dropped. What is
    cut keeps the part that holds the search terms.
    """
    items = [item for item in shortlisted if item.artifact_id in artifacts]
    most = min(max_tokens, each or max_tokens)
    texts = [excerpt(artifacts[item.artifact_id].content, terms, most) for item in items]
    level = _level([estimate_tokens(text) for text in texts], max_tokens)
    return [
        RecalledArtifact(
            artifact=artifacts[item.artifact_id].model_copy(
                update={"content": excerpt(text, terms, level)}
            ),
            score=item.score,
            why=item.why,
        )
        for item, text in zip(items, texts, strict=True)
    ]


def fitted(
    shortlisted: Sequence[Ranked],
    artifacts: Mapping[str, Artifact],
    query: RecallQuery,
    terms: SearchQuery,
) -> list[RecalledArtifact]:
    """`fit` with the budgets and terms of a query; days are those of the zone it is asked in."""
    zone = query.asked_at.tzinfo if query.asked_at else None
    return fit(
        shortlisted,
        {name: in_zone(each, zone) for name, each in artifacts.items()} if zone else artifacts,
        max_tokens=query.max_tokens,
        each=query.excerpt_tokens,
        terms=terms.terms,
    )


def in_zone(artifact: Artifact, zone: tzinfo) -> Artifact:
    """The artifact with its time told in a zone, so that what is printed is that zone's day."""
    return artifact.model_copy(update={"created_at": artifact.created_at.astimezone(zone)})


def _level(lengths: Sequence[int], budget: int) -> int:
    """The largest common cap whose capped sum is within the budget."""
    left, level = budget, budget
    for done, length in enumerate(sorted(lengths)):
        level = left // (len(lengths) - done)
        if length > level:
            return level
        left -= length
    return budget


def _why_near(close: float | None) -> list[str]:
    return [f"meaning: {close:.2f}"] if close is not None and close >= _CLOSE else []


def _why(weights: Mapping[str, float], query: SearchQuery) -> list[str]:
    best = sorted(weights, key=lambda term: -weights[term])
    words = list(dict.fromkeys(query.text[term] for term in best if term in query.text))
    items = list(dict.fromkeys(query.state[term] for term in best if term in query.state))
    reasons = [f"words: {', '.join(words[:_SHOWN_WORDS])}"] if words else []
    for item in items[:_SHOWN_WORDS]:
        reasons.append(f"{'entity' if _is_entity(item) else 'state'}: {clip_tokens(item, 16)}")
    return reasons


def _why_there(prior: Prior, documents: Sequence[Document]) -> list[str]:
    reasons = []
    if prior.neighbour is not None:
        reasons.append(f"neighbour: {documents[prior.neighbour].artifact_id}")
    if prior.named:
        reasons.append("speaker named")
    return reasons


def _is_entity(item: str) -> bool:
    kind, colon, name = item.partition(":")
    return bool(colon) and kind.isidentifier() and bool(name.strip())


def best_first(score: float, item: Document | Ranked) -> tuple[float, float, str]:
    """Best first; of equals the newest, then by id, so that the order is deterministic."""
    return (-score, -item.created_at, item.artifact_id)
