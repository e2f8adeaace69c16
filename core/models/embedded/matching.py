"""Rank short texts by how well they answer or concern a query."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import log

from core.domain.language.words import content_words
from core.models.embedded.actions import actions_in
from core.models.embedded.entities import find_entities

_SHORT_CHARS = 400
"""Texts up to this length are remembered."""


@dataclass(frozen=True)
class Fact:
    """A short text that may be quoted, what to cite it by ('' when nothing), and its turn.

    `turn` is 0 for what has none, such as a document; a higher turn is newer. `hint` holds the
    older facts that this one overtakes: they are matched with it and never quoted.
    """

    text: str
    cite: str = ""
    weight: float = 1.0
    turn: int = 0
    hint: str = ""


@dataclass(frozen=True)
class Match:
    """A fact with its score: 0 means that it shares nothing with the query."""

    fact: Fact
    score: float
    shared: int


def terms_of(text: str) -> frozenset[str]:
    """Everything a text can be matched by: words, entities and named actions."""
    return _short(text) if len(text) <= _SHORT_CHARS else _terms(text)


def _terms(text: str) -> frozenset[str]:
    entities = (f"@{entity.name.casefold()}" for entity in find_entities(text))
    acts = (f"!{name}" for name in actions_in(text))
    return frozenset({*content_words(text), *entities, *acts})


# The same sentences come back turn after turn, and are matched against many others.
_short = lru_cache(maxsize=2_048)(_terms)


def rank(query: str, facts: Sequence[Fact]) -> list[Match]:
    """Facts that share something with the query, best first; ties keep their order.

    A term counts the more, the fewer facts hold it; a score is the share of the query's weight
    that a fact covers, times the fact's own weight.
    """
    wanted = terms_of(query)
    held = [terms_of(fact.text) | terms_of(fact.hint) for fact in facts]
    spread = Counter(term for terms in held for term in terms & wanted)
    weight = {term: _rarity(term, spread[term], len(facts)) for term in wanted}
    total = sum(weight.values()) or 1.0
    matches = []
    for fact, terms in zip(facts, held, strict=True):
        shared = terms & wanted
        if shared:
            score = sum(weight[term] for term in sorted(shared)) / total
            matches.append(Match(fact, score * fact.weight, len(shared)))
    return sorted(matches, key=lambda match: -match.score)


def once(facts: Iterable[Fact]) -> list[Fact]:
    """Facts that say different things; of two that say the same, one with a citation is kept."""
    kept: list[Fact] = []
    for fact in facts:
        twin = next((at for at, other in enumerate(kept) if _same(fact, other)), None)
        if twin is None:
            kept.append(fact)
        elif fact.cite and not kept[twin].cite:
            kept[twin] = replace(kept[twin], cite=fact.cite)
    return kept


def _same(fact: Fact, earlier: Fact) -> bool:
    """Whether a fact, perhaps cut short or told as a relation, adds nothing to an earlier one."""
    one, other = (item.text.casefold().rstrip(" .。…!！") for item in (fact, earlier))
    return (
        other.startswith(one)
        or one.startswith(other)
        or (not fact.cite and terms_of(fact.text) <= terms_of(earlier.text))
    )


def unique(texts: Iterable[str]) -> list[str]:
    """Texts without repetitions (case and blanks aside), first ones kept."""
    seen: dict[str, str] = {}
    for text in texts:
        key = " ".join(text.casefold().split())
        if key:
            seen.setdefault(key, text)
    return list(seen.values())


def _rarity(term: str, count: int, total: int) -> float:
    # What no fact holds cannot tell facts apart; it only says that the answer is partial.
    base = 1.0 + (log((1 + total) / (1 + count)) if count else 0.0)
    return base * (2.0 if term.startswith("@") else 1.0)
