"""Inverted index of a playbook, so that selection does not scan all bullets.

Terms are word stems and CJK bigrams.
"""

import math
import re
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import heapify, heappop, merge
from itertools import chain
from operator import le
from typing import TypeAlias

from acc_ace.core.playbook.playbook_size import heading_tokens, line_tokens
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.text.lexicon_en import STOP_WORDS
from acc_ace.core.text.lexicon_ja import STOP_BIGRAMS
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.stemmer import stem

QUERY_CHARACTERS = 20_000
"""Maximum characters read of a text; its subject is usually at the beginning."""

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_RUN = lazy_pattern(rf"[{_CJK}ー]+|[^\W_{_CJK}]+")


@lru_cache(maxsize=32_768)
def bullet_terms(section: str, content: str) -> frozenset[str]:
    """The terms of a bullet, its section's name included."""
    return terms_of(f"{section} {content}")


def terms_of(text: str) -> frozenset[str]:
    """The terms of a text's first QUERY_CHARACTERS, without stop words."""
    terms: set[str] = set()
    for run in _RUN.findall(text[:QUERY_CHARACTERS].casefold()):
        if run[0] > "\u3000" and re.match(rf"[{_CJK}]", run):
            terms.update(run[at : at + 2] for at in range(max(1, len(run) - 1)))
        elif (len(run) > 2 or run.isdigit()) and run not in STOP_WORDS:
            terms.add(stem(run))
    return frozenset(terms - STOP_BIGRAMS)


EXPLORATION = 0.25
"""Exploration bonus of a bullet that was never used, as a share of its missing confidence."""

BASE_RELEVANCE = 0.1
"""Relevance, 0 to 1, of a bullet that shares no term with the text."""

MOST_POSTINGS = 5_000
"""Maximum postings per query, rarest terms first: common terms hardly discriminate."""

MOST_CHANGED = 0.25
"""Share of changed bullets up to which an index is updated rather than rebuilt."""


Ranked: TypeAlias = tuple[float, int]
"""Relevance times confidence, negative, and a place: the lowest is the best, the older on a tie."""


def confidence(bullet: Bullet) -> float:
    """A bullet's confidence by its counters, 0 to 1.

    One standard deviation below the mean share of helpful turns (Beta(1, 1) prior), plus an
    exploration bonus that fades with use: new bullets get tried, harmful ones sink. Another
    helpful turn never lowers it, another harmful turn never raises it.
    """
    judged = bullet.helpful + bullet.harmful + 2
    mean = (bullet.helpful + 1) / judged
    low = mean - math.sqrt(mean * (1 - mean) / (judged + 1))
    used = bullet.helpful + bullet.harmful + bullet.neutral
    return low + EXPLORATION * (1 - low) / math.sqrt(1 + used)


class SelectionIndex:
    """Bullets by place (their order), indexed by term and by confidence. Not thread-safe."""

    def __init__(self, bullets: Sequence[Bullet]) -> None:
        self._bullets: tuple[Bullet, ...] = ()
        self._at: dict[int, Bullet] = {}
        self._places: dict[str, int] = {}
        self._by_term: dict[str, dict[int, None]] = {}
        self._confidence: dict[int, float] = {}
        self._by_confidence: list[Ranked] = []
        self._pinned: dict[int, None] = {}
        self._sections: dict[str, int] = {}
        self._costs: dict[int, int] = {}
        self._lines = 0
        self._next = 0
        for bullet in bullets:
            self._file(bullet, self._next, sort=False)
        self._by_confidence.sort()
        self._bullets = tuple(bullets)

    @property
    def bullets(self) -> tuple[Bullet, ...]:
        """The indexed bullets."""
        return self._bullets

    @property
    def tokens(self) -> int:
        """Tokens of the whole playbook in a prompt."""
        headings = (heading_tokens(name) for name, count in self._sections.items() if count)
        return self._lines + sum(headings)

    def bullet(self, place: int) -> Bullet:
        """The bullet at a place."""
        return self._at[place]

    def cost(self, place: int) -> int:
        """Tokens of the bullet's line in a prompt."""
        return self._costs[place]

    def follow(self, bullets: tuple[Bullet, ...]) -> bool:
        """Update the index to a later version; False, and unchanged, if it differs too much.

        That is: many bullets changed, or those that stayed are in another order.
        """
        if bullets is self._bullets:
            return True
        changed = self._changed(bullets)
        if changed is None:
            return False
        new = sum(bullet.id not in self._places for bullet in changed)
        if len(self._places) + new > len(bullets):
            self._drop_missing(bullets)
        for bullet in changed:
            place = self._places.get(bullet.id, self._next)
            if place != self._next:
                self._drop(self._at[place], place)
            self._file(bullet, place, sort=True)
        self._bullets = bullets
        return True

    def ranked(self, weights: Mapping[str, float]) -> Iterator[Ranked]:
        """Pinned bullets, then the others, each best first: relevance times confidence."""
        relevance = self._relevance(weights)
        values = self._confidence
        pinned = [self._rank(place, relevance.pop(place, 0.0)) for place in self._pinned]
        matches = [
            (-(BASE_RELEVANCE + (1 - BASE_RELEVANCE) * value) * values[place], place)
            for place, value in relevance.items()
        ]
        heapify(matches)
        rest = (
            (BASE_RELEVANCE * negative, place)
            for negative, place in self._by_confidence
            if place not in relevance and place not in self._pinned
        )
        return chain(sorted(pinned), merge(_popped(matches), rest))

    def _rank(self, place: int, relevance: float) -> Ranked:
        share = BASE_RELEVANCE + (1 - BASE_RELEVANCE) * relevance
        return -share * self._confidence[place], place

    def _relevance(self, weights: Mapping[str, float]) -> dict[int, float]:
        """The places that share a term, with the weight of shared terms; the best has 1."""
        # Growing counters must not change relevance, so only terms count here.
        known = [(len(self._by_term[term]), term) for term in weights if term in self._by_term]
        relevance: dict[int, float] = {}
        get, left = relevance.get, MOST_POSTINGS
        # In a fixed order, so that sums of floats are deterministic.
        for count, term in sorted(known):
            left -= count
            if left < 0 and relevance:
                break
            weight = weights[term] * math.log1p(len(self._at) / count)
            for place in self._by_term[term]:
                relevance[place] = get(place, 0.0) + weight
        best = max(relevance.values(), default=1.0)
        return {place: value / best for place, value in relevance.items()}

    def _changed(self, bullets: tuple[Bullet, ...]) -> list[Bullet] | None:
        """New or changed bullets; None when there are too many or the order changed."""
        before, added = self._bullets, bullets[len(self._bullets) :]
        pairs = [(old, new) for old, new in zip(before, bullets, strict=False) if old is not new]
        most = max(8, int(MOST_CHANGED * len(bullets)))
        if len(before) <= len(bullets) and all(old.id == new.id for old, new in pairs):
            changed = [*(new for _, new in pairs), *added]
            return changed if len(changed) <= most else None
        # A removal shifts the bullets behind it, so compare again, by identity.
        known = set(map(id, before))
        changed = [bullet for bullet in bullets if id(bullet) not in known]
        if len(changed) + abs(len(bullets) - len(before)) > most or not self._in_order(bullets):
            return None
        return changed

    def _in_order(self, bullets: tuple[Bullet, ...]) -> bool:
        """Whether known bullets keep their order and new ones follow them."""
        get, unknown = self._places.get, self._next
        places = [get(bullet.id, unknown) for bullet in bullets]
        return all(map(le, places, places[1:]))

    def _drop_missing(self, bullets: tuple[Bullet, ...]) -> None:
        present = {bullet.id for bullet in bullets}
        for bullet_id in [name for name in self._places if name not in present]:
            place = self._places[bullet_id]
            self._drop(self._at[place], place)

    def _file(self, bullet: Bullet, place: int, *, sort: bool) -> None:
        self._at[place] = bullet
        self._places[bullet.id] = place
        self._next = max(self._next, place + 1)
        for term in bullet_terms(bullet.section, bullet.content):
            self._by_term.setdefault(term, {})[place] = None
        value = self._confidence[place] = confidence(bullet)
        entry = (-value, place)
        if sort:
            insort(self._by_confidence, entry)
        else:
            self._by_confidence.append(entry)
        if bullet.pinned:
            self._pinned[place] = None
        self._sections[bullet.section] = self._sections.get(bullet.section, 0) + 1
        cost = self._costs[place] = line_tokens(bullet)
        self._lines += cost

    def _drop(self, bullet: Bullet, place: int) -> None:
        del self._at[place], self._places[bullet.id]
        for term in bullet_terms(bullet.section, bullet.content):
            filed = self._by_term[term]
            del filed[place]
            if not filed:
                del self._by_term[term]
        entry = (-self._confidence.pop(place), place)
        del self._by_confidence[bisect_left(self._by_confidence, entry)]
        self._pinned.pop(place, None)
        self._sections[bullet.section] -= 1
        self._lines -= self._costs.pop(place)


def _popped(heap: list[Ranked]) -> Iterator[Ranked]:
    while heap:
        yield heappop(heap)


def term_weights(
    text: Iterable[str], state: Iterable[str], state_weight: float
) -> dict[str, float]:
    """Weight of each term: 1 if the text has it, else `state_weight`."""
    weights = dict.fromkeys(state, state_weight)
    weights.update(dict.fromkeys(text, 1.0))
    return weights
