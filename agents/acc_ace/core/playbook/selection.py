"""Choose the bullets that go into a prompt.

A playbook that fits is included whole and in order, so that prompt caches hit on the shared
prefix. Otherwise bullets are ranked: pinned first, then by relevance to the turn times
`confidence`, which measures how each bullet did so far.
"""

import sys
import threading
from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice

from acc_ace.core.playbook.playbook_size import heading_tokens
from acc_ace.core.playbook.selection_index import (
    Ranked,
    SelectionIndex,
    confidence,
    term_weights,
    terms_of,
)
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.playbook import Playbook

__all__ = ["confidence", "select_bullets"]

STATE_WEIGHT = 0.5
"""Weight of a term of the state; a term of x_t has 1."""

MOST_MISSES = 100
"""Bullets that may exceed the remaining budget before selection stops."""

_SHORTEST_LINE = 13
"""No line has fewer tokens: '[1] helpful=0 harmful=0 ::'."""

_INDEXES_KEPT = 8
_LARGE = 16
"""Number of bullets from which the index is cached."""


def select_bullets(
    playbook: Playbook, text: str, *, max_tokens: int, state: str = "", most: int = sys.maxsize
) -> tuple[Bullet, ...]:
    """The bullets for a prompt about `text` and `state`, in playbook order, within `max_tokens`
    and at most `most`.

    The budget is that of `playbook.as_prompt(selected)`, headings included. The same arguments
    always give the same bullets. Tagging a chosen bullet helpful keeps it chosen.
    """
    return _INDEXES.choose(playbook, text, state, max_tokens, most)


class _Indexes:
    """LRU cache of selection indexes. Thread-safe."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._kept: OrderedDict[int, SelectionIndex] = OrderedDict()
        self._made = 0

    def choose(
        self, playbook: Playbook, text: str, state: str, max_tokens: int, most: int
    ) -> tuple[Bullet, ...]:
        """Update an index and choose with it."""
        # One at a time: an index is changed in place, and selection takes milliseconds.
        with self._mutex:
            return _choose(self._index_of(playbook.bullets), text, state, max_tokens, most)

    def _index_of(self, bullets: tuple[Bullet, ...]) -> SelectionIndex:
        if len(bullets) < _LARGE:
            return SelectionIndex(bullets)
        for number, index in reversed(self._kept.items()):
            if _related(index.bullets, bullets) and index.follow(bullets):
                self._kept.move_to_end(number)
                return index
        index = SelectionIndex(bullets)
        self._made += 1
        self._kept[self._made] = index
        if len(self._kept) > _INDEXES_KEPT:
            self._kept.popitem(last=False)
        return index


def _related(first: tuple[Bullet, ...], second: tuple[Bullet, ...]) -> bool:
    """Whether two tuples may be versions of one playbook; a cheap guess that `follow` checks."""
    if not first or not second:
        return False
    middle = min(len(first), len(second)) // 2
    return first[0] is second[0] or first[middle] is second[middle]


def _choose(
    index: SelectionIndex, text: str, state: str, max_tokens: int, most: int
) -> tuple[Bullet, ...]:
    if index.tokens <= max_tokens and len(index.bullets) <= most:
        return index.bullets
    weights = term_weights(terms_of(text), terms_of(state), STATE_WEIGHT)
    places = _fill(index, islice(index.ranked(weights), most), max_tokens)
    return tuple(index.bullet(place) for place in sorted(places))


def _fill(index: SelectionIndex, ranked: Iterable[Ranked], max_tokens: int) -> list[int]:
    """Take bullets by rank while they fit; a smaller one may follow one too large."""
    left, misses = max_tokens, 0
    opened: set[str] = set()
    places: list[int] = []
    for _, place in ranked:
        bullet = index.bullet(place)
        heading = 0 if bullet.section in opened else heading_tokens(bullet.section)
        cost = index.cost(place) + heading
        if cost <= left:
            left -= cost
            opened.add(bullet.section)
            places.append(place)
        else:
            misses += 1
        if left < _SHORTEST_LINE or misses > MOST_MISSES:
            break
    return places


_INDEXES = _Indexes()
