"""Building blocks of this package: patterns, and analyses that a text gets once."""

import re
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache, wraps
from typing import Final, TypeVar, TypeVarTuple, cast


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


SHORT_TEXT: Final = 2_000  # Characters of most sentences, exchanges and quotations.
SHORT_KEPT: Final = 1_024
LONG_KEPT: Final = 16
LONGEST_KEPT: Final = 100_000  # Characters; what is longer is analysed each time.

_More = TypeVarTuple("_More")
_Found = TypeVar("_Found")


def remembered(analyse: Callable[[str, *_More], _Found]) -> Callable[[str, *_More], _Found]:
    """Add an LRU cache to a pure analysis of a text, so that a turn makes it only once.

    Short and long texts have separate caches, so that sentences do not evict their text. The other
    arguments must be hashable, and results must not be mutated.
    """
    short = lru_cache(maxsize=SHORT_KEPT)(analyse)
    long = lru_cache(maxsize=LONG_KEPT)(analyse)

    @wraps(analyse)
    def lookup(text: str, *more: *_More) -> _Found:
        look = short if len(text) <= SHORT_TEXT else long if len(text) <= LONGEST_KEPT else analyse
        return look(text, *more)

    return lookup
