"""Relevance priors of a turn: from who speaks, and from its position in the conversation.

A question and its answer are seldom one turn: the answer is in a neighbouring turn, most often
right after a question. So a turn gets a share of its neighbours' scores, of the best of its
session, and a bonus when x_t names its speaker. A stored exchange holds its answer already: it
gets a small share of its neighbours'.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.limits import RecallWeights
from acc_ace.core.text.exchange import AGENT, USER, parts_of, written
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.search_terms import index_terms
from acc_ace.memory.query_terms import OWN_ENDS

REACH = 2
"""How many turns away a neighbour may be; each turn further counts by the weight again."""

_OFFSETS = sorted(range(-REACH, REACH + 1), key=lambda offset: (abs(offset) or 1, offset))
"""Of neighbours that give as much, the reason names the first."""

_BETWEEN_EXCHANGES = 0.4
"""What an exchange gets of the shares that its neighbours give."""

_BEST_OF_SESSION = 3

_LAST_LINE = 1_000
"""Characters at the end of a text in which its last line is looked for."""

_ASKED = lazy_pattern(r"？|\?(?=[\s\"'”’」』)\]）!]|$)")
"""A question mark that ends a sentence: not one within a URL."""

_ASKING_END = ("か。", "か", "かな。", "かな")
"""How a Japanese question ends that has no question mark."""

_LABEL = lazy_pattern(r"\s*([^\W\d_][\w .'’\-]{0,39}?)(?::\s|：)")


class TurnPosition(NamedTuple):
    """Position of a document: session and turn, if any, speaker, whether it ends in a question,
    and whether it is an exchange: what the user said, with the answer.
    """

    session: str | None = None
    turn: int | None = None
    speaker: str = ""
    asks: bool = False
    is_exchange: bool = False


class Prior(NamedTuple):
    """What is added to a document's own score, and the main reason, if any."""

    score: float
    neighbour: int | None
    """Position of the neighbour that gave most."""
    named: bool
    """Whether x_t names the speaker."""


class _Share(NamedTuple):
    """The share of its score that a neighbour gives."""

    offset: int
    distance: int
    share: float
    after_question: float
    """When the neighbour ends in a question."""


def said_by(content: str) -> str:
    """The label that a text opens with ('Aiko: …'); '' for none."""
    label = _LABEL.match(content[:64])
    return label[1] if label else ""


def ends_asking(content: str) -> bool:
    """Whether the last line of a text asks something, so that the answer is still to come."""
    line = content[-_LAST_LINE:].rstrip().rpartition("\n")[2].rstrip("」』\"')）")
    return _ASKED.search(line) is not None or line.endswith(_ASKING_END)


def speaker_terms(content: str) -> str:
    """The search terms of that label."""
    return index_terms(said_by(content))


_ANSWERING = frozenset({AGENT, "assistant", "model"})
"""Who speaks in a message that holds nothing of the user's own."""


def divided_terms(artifact: Artifact) -> str:
    """The search terms of what the user said, OWN_ENDS, those of the rest.

    Nothing divides what is neither an exchange nor an answer: documents, what people say.
    """
    parts = parts_of(artifact.content) if artifact.authority is Authority.AGENT else []
    if not any(part.who == USER for part in parts):
        terms = index_terms(artifact.content)
        answers = said_by(artifact.content).casefold() in _ANSWERING
        return f"{OWN_ENDS}{terms}" if answers else terms
    own, others = (
        written(part for part in parts if (part.who == USER) is is_own) for is_own in (True, False)
    )
    return f"{index_terms(own)}{OWN_ENDS}{index_terms(others)}"


def priors(
    places: Sequence[TurnPosition],
    scores: Sequence[float],
    words: frozenset[str],
    weights: RecallWeights,
) -> list[Prior]:
    """The prior of each document, from the places and scores of all."""
    best = _best_by_turn(places, scores)
    shares = {False: _shares(weights, 1.0), True: _shares(weights, _BETWEEN_EXCHANGES)}
    near = [
        _nearness(at, places, scores, best, shares[place.is_exchange])
        for at, place in enumerate(places)
    ]
    totals = [score + gain for score, (gain, _) in zip(scores, near, strict=True)]
    sessions = _session_means(places, totals)
    rules = []
    for place, (gain, neighbour) in zip(places, near, strict=True):
        session = weights.session * sessions.get(place.session, 0.0)
        named = bool(weights.speaker) and _is_named(place.speaker, words)
        rules.append(Prior(gain + session + weights.speaker * named, neighbour, named))
    return rules


def _is_named(speaker: str, words: frozenset[str]) -> bool:
    return bool(speaker) and speaker not in _role_labels() and words.issuperset(speaker.split())


@cache
def _role_labels() -> frozenset[str]:
    """Our own labels of turns ('user: …'), as speakers are stored: they name no person."""
    return frozenset(index_terms(authority.value) for authority in Authority)


def _best_by_turn(
    places: Sequence[TurnPosition], scores: Sequence[float]
) -> dict[tuple[str, int], int]:
    """The position of the best document of each turn that has one with a score."""
    best: dict[tuple[str, int], int] = {}
    for at, (session, turn, *_) in enumerate(places):
        if session is not None and turn is not None and scores[at]:
            other = best.setdefault((session, turn), at)
            if scores[at] > scores[other]:
                best[session, turn] = at
    return best


def _nearness(
    at: int,
    places: Sequence[TurnPosition],
    scores: Sequence[float],
    best: Mapping[tuple[str, int], int],
    shares: Sequence[_Share],
) -> tuple[float, int | None]:
    """What the neighbours give, and the one that gives most. A turn's tool results are near.

    Of each distance only the one that gives most counts.
    """
    session, turn, *_ = places[at]
    if session is None or turn is None:
        return 0.0, None
    given: dict[int, float] = {}
    most, neighbour = 0.0, None
    for offset, distance, share, after_question in shares:
        other = best.get((session, turn + offset))
        if other is None or other == at:
            continue
        gain = (after_question if places[other].asks else share) * scores[other]
        given[distance] = max(gain, given.get(distance, 0.0))
        if gain > most:
            most, neighbour = gain, other
    return sum(given.values()), neighbour


def _shares(weights: RecallWeights, part: float) -> list[_Share]:
    """What the turn at each offset gives; the turn itself is next to its own documents."""
    shares = []
    for offset in _OFFSETS:
        distance = abs(offset) or 1
        share = (part * weights.neighbour) ** distance
        answer = max(share, part * weights.answer) if offset == -1 else share
        shares.append(_Share(offset, distance, share, answer))
    return shares


def _session_means(
    places: Sequence[TurnPosition], totals: Sequence[float]
) -> dict[str | None, float]:
    """The mean of the best of each session; documents of no session have none."""
    members: dict[str | None, list[float]] = defaultdict(list)
    for place, total in zip(places, totals, strict=True):
        if place.session is not None:
            members[place.session].append(total)
    return {
        session: sum(sorted(scores, reverse=True)[:_BEST_OF_SESSION]) / _BEST_OF_SESSION
        for session, scores in members.items()
    }
