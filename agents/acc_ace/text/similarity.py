"""Compare two texts: the same words, or nearly the same text."""

import unicodedata
from typing import NamedTuple

from acc_ace.text.patterns import lazy_pattern
from acc_ace.text.plain_text import one_line
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
