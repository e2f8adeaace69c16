"""Building blocks of this package's pattern tables."""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import cast


class _LazyPattern:
    """A pattern that is compiled on first use."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._flags)

    def __getattr__(self, name: str) -> object:
        value = getattr(self._compiled, name)
        # Cached as an attribute, so that the next look-up does not get here.
        setattr(self, name, value)
        return value


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, but on first use, to keep imports fast."""
    return cast(re.Pattern[str], _LazyPattern(pattern, flags))


def any_of(*patterns: str) -> re.Pattern[str]:
    """An alternation of several patterns, compiled on first use."""
    return lazy_pattern("|".join(f"(?:{pattern})" for pattern in patterns))


def words_of(text: str) -> frozenset[str]:
    """Split a table into words."""
    return frozenset(text.split())


def one_of(words: Iterable[str]) -> str:
    """A pattern source for any of these words, longest first."""
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(map(re.escape, longest_first)) + ")"
