"""Find the user's own words that bear out what a model proposes."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from core.domain.language.sentences import split_clauses, split_sentences
from core.domain.language.words import content_words, negated
from core.domain.plain_text import one_line

_SUPPORT = 0.5
"""Share of the proposal's content words that a clause must hold to bear it out."""

_MAX_CLAUSES = 256
_MAX_CLAUSE_CHARS = 2_000
_QUESTION = re.compile(r"([?？]|(です|ます|でしょう|だろう|のだろう)か。?)\s*$")
_GREETING = re.compile(
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


def statements(text: str) -> tuple[Clause, ...]:
    """The clauses of a text that state something: no questions, no greetings."""
    found: list[Clause] = []
    for sentence in split_sentences(text):
        if _QUESTION.search(sentence):
            continue
        for clause in split_clauses(sentence):
            plain = one_line(clause[:_MAX_CLAUSE_CHARS])
            if plain and not is_greeting(plain):
                found.append(Clause(plain, content_words(plain), negated(plain)))
        if len(found) >= _MAX_CLAUSES:
            break
    return tuple(found[:_MAX_CLAUSES])


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
