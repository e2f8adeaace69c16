"""Compare two texts: their content words, and whether they are nearly the same text."""

import re
import unicodedata
from typing import NamedTuple

from acc_ace.text.lexicon_en import STOP_WORDS, root_of
from acc_ace.text.lexicon_ja import STOP_KANJI
from acc_ace.text.normalize import normalise, one_line
from acc_ace.text.patterns import lazy_pattern
from acc_ace.text.polarity import negated

_COMPARED_CHARS = 8_000
"""Characters of a text that a comparison looks at."""

_NOT_WORD = lazy_pattern(r"[\W_]+")
_NUMBER = lazy_pattern(r"\d+")
_SAME_TEXT = 0.9
"""Shared part of character trigrams, and of length, from which two texts count as one."""

_END_MARKS = 4
"""Characters that two copies of a text may differ in besides."""


def normalised(text: str) -> str:
    """The text for comparison: compatibility forms folded, case and punctuation gone."""
    folded = unicodedata.normalize("NFKC", text[:_COMPARED_CHARS]).casefold()
    return _NOT_WORD.sub(" ", folded).strip()


def same_wording(text: str) -> str:
    """A key that two texts share when they differ in case, width and end mark only.

    Signs inside count: 'cap is $500' and 'cap is €500' are different rules.
    """
    return unicodedata.normalize("NFKC", one_line(text)).casefold().strip(" .!。．！")


def has_words(text: str) -> bool:
    """Whether a text holds anything but marks and white space."""
    return any(char.isalnum() for char in text)


class Fingerprint(NamedTuple):
    """What of a text a comparison needs, taken once."""

    text: str
    length: int
    numbers: tuple[str, ...]
    negated: bool
    trigrams: frozenset[str]


def fingerprint(text: str) -> Fingerprint:
    """The fingerprint of a text; looks at its first 8,000 characters and its length."""
    plain = normalised(text)
    return Fingerprint(
        text=plain,
        length=len(text),
        numbers=tuple(_NUMBER.findall(plain)),
        negated=negated(text[:_COMPARED_CHARS]),
        trigrams=frozenset(plain[at : at + 3] for at in range(max(1, len(plain) - 2))),
    )


def near_duplicate(first: Fingerprint, second: Fingerprint) -> bool:
    """Whether two texts say the same in almost the same words.

    Texts with different numbers or opposite polarity are never duplicates, however alike, nor
    are texts of clearly different length.
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
"""No topic of a rule; what is searched may well be a month."""

_TOPICS = {"unfrozen": "freeze", "unfreeze": "freeze"}
"""Words that end what another one began: they have its topic."""


def content_words(text: str) -> frozenset[str]:
    """The words that carry the topic.

    English: lowercased, lightly stemmed, stop words out; identifiers such as 'db-01' stay whole.
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
