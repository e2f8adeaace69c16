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


class AnyOf:
    """Alternation of several patterns, compiled on first use to keep imports fast."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._source = "|".join(f"(?:{pattern})" for pattern in patterns)

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._source)

    def search(self, text: str) -> re.Match[str] | None:
        """The first match of any pattern in a normalised text, or None."""
        return self._compiled.search(text)


def any_of(*patterns: str) -> AnyOf:
    """A matcher for any of these pattern sources."""
    return AnyOf(patterns)


def words_of(text: str) -> frozenset[str]:
    """Split a table into words."""
    return frozenset(text.split())


def one_of(words: Iterable[str]) -> str:
    """A pattern source for any of these words, longest first."""
    return "(?:" + "|".join(re.escape(word) for word in sorted(words, key=_longest_first)) + ")"


def _longest_first(word: str) -> tuple[int, str]:
    return -len(word), word
