"""Find the user's own words that bear out what a model proposes."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from acc_ace.text.normalize import language_of, normalise, one_line
from acc_ace.text.patterns import lazy_pattern
from acc_ace.text.polarity import negated
from acc_ace.text.quoted_spans import mask_quotations, own_sentences
from acc_ace.text.rules import mood_en, mood_ja
from acc_ace.text.sentences import remembered, split_clauses
from acc_ace.text.similarity import content_words

_SUPPORT = 0.5
"""Share of the proposal's content words that a clause must hold to bear it out."""

_MAX_CLAUSES = 256
_GREETING = lazy_pattern(
    r"^\W*(hi|hello|hey|good (morning|afternoon|evening|night)|thanks?( you)?|bye|ok(ay)?|"
    r"こんにちは|こんばんは|おはよう(ございます)?|ありがとう(ございます)?|よろしく(お願いします)?|"
    r"お疲れ(様|さま)(です)?|はじめまして)\b",
    re.IGNORECASE,
)


class Support(NamedTuple):
    """A clause of x_t and the share of the proposal that it holds, 0 to 1."""

    clause: str
    share: float


class Clause(NamedTuple):
    """A clause of x_t with what comparing it needs."""

    text: str
    words: frozenset[str]
    negated: bool


@remembered
def statements(text: str) -> tuple[Clause, ...]:
    """The clauses that the speaker of a text states as so.

    Left out: questions, greetings, suppositions, the past, and other people's words, reported or
    pasted.
    """
    own = (sentence for sentence in own_sentences(text) if _states(sentence))
    clauses = (one_line(clause) for sentence in own for clause in split_clauses(sentence))
    stated = (clause for clause in clauses if clause and not is_greeting(clause))
    return tuple(
        Clause(clause, content_words(clause), negated(clause))
        for clause in islice(stated, _MAX_CLAUSES)
    )


def _states(sentence: str) -> bool:
    folded = normalise(mask_quotations(sentence))
    mood = mood_ja if language_of(folded) == "ja" else mood_en
    return not (
        mood.is_question(folded)
        or mood.is_reported(folded)
        or mood.is_supposed(folded)
        or mood.is_past(folded)
    )


def is_greeting(text: str) -> bool:
    """Whether a text only opens or closes a conversation."""
    greeting = _GREETING.search(text)
    return greeting is not None and len(content_words(text[greeting.end() :])) < 2


def best_support(
    proposal: str, clauses: Iterable[Clause], *, same_polarity: bool = True
) -> Support | None:
    """The clause that bears a proposal out best, or None when none does.

    A clause of the opposite polarity bears nothing out, however many words it shares.
    """
    words = content_words(proposal)
    if not words:
        return None
    polarity = negated(proposal)
    best: Support | None = None
    for clause in clauses:
        if same_polarity and clause.negated != polarity:
            continue
        share = len(words & clause.words) / len(words)
        if share >= _SUPPORT and (best is None or share > best.share):
            best = Support(clause.text, share)
    return best


def shared(first: frozenset[str], second: frozenset[str]) -> float:
    """Share of the first set that is in the second; 0 for an empty one."""
    return len(first & second) / len(first) if first else 0.0


def within_any(text: str, quotes: Sequence[str]) -> bool:
    """Whether one of the quotes holds the text, or the text one of them."""
    return any(text in quote or quote in text for quote in quotes if quote)
