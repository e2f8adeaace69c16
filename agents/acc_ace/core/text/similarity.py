"""Compare texts: content words and near duplicates."""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from acc_ace.core.text.lexicon_en import STOP_WORDS, root_of
from acc_ace.core.text.lexicon_ja import STOP_KANJI
from acc_ace.core.text.normalize import normalise
from acc_ace.core.text.patterns import lazy_pattern, remembered
from acc_ace.core.text.polarity import negated

_COMPARED_CHARS = 8_000
"""Maximum characters compared of a text."""

_NOT_WORD = lazy_pattern(r"[\W_]+")
_NUMBER = lazy_pattern(r"\d+")
_SAME_TEXT = 0.9
"""Minimum ratio of common character trigrams, and of lengths, of near duplicates."""

_FINGERPRINTS = 128
"""Cached ones: some tens of kilobytes each."""

_END_MARKS = 4
"""Additional tolerance in length, in characters."""


def normalised(text: str) -> str:
    """The text for comparison: NFKC, case-folded, without punctuation."""
    folded = unicodedata.normalize("NFKC", text[:_COMPARED_CHARS]).casefold()
    return _NOT_WORD.sub(" ", folded).strip()


class Fingerprint(NamedTuple):
    """The precomputed data of a text for comparison."""

    text: str
    length: int
    numbers: tuple[str, ...]
    negated: bool
    trigrams: frozenset[str]


@lru_cache(maxsize=_FINGERPRINTS)
def fingerprint(text: str) -> Fingerprint:
    """The fingerprint of a text, from its first 8,000 characters and its length."""
    plain = normalised(text)
    return Fingerprint(
        text=plain,
        length=len(text),
        numbers=tuple(_NUMBER.findall(plain)),
        negated=negated(text[:_COMPARED_CHARS]),
        trigrams=frozenset(plain[at : at + 3] for at in range(max(1, len(plain) - 2))),
    )


def near_duplicate(first: Fingerprint, second: Fingerprint) -> bool:
    """Whether two texts are near duplicates.

    Texts with different numbers, opposite polarity or clearly different length never are.
    """
    shorter, longer = sorted((first.length, second.length))
    if shorter < _SAME_TEXT * longer - _END_MARKS:
        return False
    if first.text == second.text:
        return True
    if first.numbers != second.numbers or first.negated != second.negated:
        return False
    return _shared(first.trigrams, second.trigrams) >= _SAME_TEXT


def _shared(first: frozenset[str], second: frozenset[str]) -> float:
    """Jaccard index, 0 to 1."""
    return len(first & second) / max(1, len(first | second))


_LATIN = lazy_pattern(r"[a-z0-9]+(?:[-_.:/@'][a-z0-9]+)*", re.ASCII)
_HAN_RUN = lazy_pattern("[\u3400-\u4dbf\u4e00-\u9fff々〆ヶ]+")
_KATAKANA_RUN = lazy_pattern("[\u30a1-\u30faー]{2,}")
_PERMISSION = "may"
"""Not the topic of a rule; in a search it may be the month."""

_TOPICS = {"unfrozen": "freeze", "unfreeze": "freeze"}
"""Words that reverse another one and share its topic."""


@remembered
def content_words(text: str) -> frozenset[str]:
    """The words that carry the topic.

    English: lowercased, lightly stemmed, no stop words; identifiers such as 'db-01' stay whole.
    Japanese: kanji runs, the bigrams of longer runs, and katakana words.
    """
    folded = normalise(text)
    words = {_stem(word) for word in _LATIN.findall(folded) if _carries(word)}
    for run in _HAN_RUN.findall(folded):
        words.update(_pieces(run))
    words.update(_KATAKANA_RUN.findall(folded))
    return frozenset(words)


def _carries(word: str) -> bool:
    if word in STOP_WORDS or word.replace("'", "") in STOP_WORDS or word == _PERMISSION:
        return False
    return len(word) > 1 or word.isdigit()


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    return root_of(_TOPICS.get(word, word))


def _pieces(run: str) -> set[str]:
    if len(run) == 1:
        return set() if run in STOP_KANJI else {run}
    return {run[at : at + 2] for at in range(len(run) - 1)}
