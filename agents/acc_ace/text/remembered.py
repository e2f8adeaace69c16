"""Analyse a text once, however many steps of a turn ask for it."""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar, TypeVarTuple

from acc_ace.text.sentences import MAX_SENTENCE

SENTENCES_KEPT = 4_096
TEXTS_KEPT = 16
"""Texts longer than a sentence; one may hold 100,000 characters."""

_More = TypeVarTuple("_More")
_Found = TypeVar("_Found")


def remembered(analyse: Callable[[str, *_More], _Found]) -> Callable[[str, *_More], _Found]:
    """A pure analysis that keeps what it found in the newest texts.

    Sentences are kept apart from whole texts, so that those of one text do not displace it. The
    other arguments must be hashable, and what is found must not be changed.
    """
    short = lru_cache(maxsize=SENTENCES_KEPT)(analyse)
    long = lru_cache(maxsize=TEXTS_KEPT)(analyse)

    def found(text: str, *more: *_More) -> _Found:
        kept = short if len(text) <= MAX_SENTENCE else long
        return kept(text, *more)

    return found
