"""Compare two texts: the same words, or nearly the same text."""

import re
import unicodedata

from core.domain.language.words import negated
from core.domain.plain_text import one_line

_COMPARED_CHARS = 8_000
"""Characters of a text that a comparison looks at."""

_NOT_WORD = re.compile(r"[\W_]+")
_NUMBER = re.compile(r"\d+")
_SAME_TEXT = 0.9
"""Shared part of character trigrams from which two texts count as one."""


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


def near_duplicate(first: str, second: str) -> bool:
    """Whether two texts say the same in almost the same words.

    Texts with different numbers or opposite polarity are never duplicates, however alike.
    """
    one, other = normalised(first), normalised(second)
    if one == other:
        return True
    if _NUMBER.findall(one) != _NUMBER.findall(other) or negated(first) != negated(second):
        return False
    return _shared(_trigrams(one), _trigrams(other)) >= _SAME_TEXT


def _trigrams(text: str) -> frozenset[str]:
    return frozenset(text[i : i + 3] for i in range(max(1, len(text) - 2)))


def _shared(first: frozenset[str], second: frozenset[str]) -> float:
    """Jaccard index, 0 to 1."""
    return len(first & second) / max(1, len(first | second))
