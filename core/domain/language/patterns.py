"""How the pattern tables of this package are put together."""

import re
from collections.abc import Iterable


def any_of(*patterns: str) -> re.Pattern[str]:
    """One compiled pattern that matches where any of these does; for normalised text."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


def words_of(text: str) -> frozenset[str]:
    """The words of a table."""
    return frozenset(text.split())


def one_of(words: Iterable[str]) -> str:
    """A pattern source for any of these words, longest first."""
    return "(?:" + "|".join(re.escape(word) for word in sorted(words, key=_longest_first)) + ")"


def _longest_first(word: str) -> tuple[int, str]:
    return -len(word), word
