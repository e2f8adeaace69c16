"""How the pattern tables of this package are put together."""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import cast


class _LazyPattern:
    """A pattern that is compiled when it is first asked for anything but its source."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._flags)

    def __getattr__(self, name: str) -> object:
        value = getattr(self._compiled, name)
        # The next look-up finds it without coming here.
        setattr(self, name, value)
        return value


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, at the first use: importing stays quick."""
    return cast(re.Pattern[str], _LazyPattern(pattern, flags))


class AnyOf:
    """Several patterns tried as one, compiled at the first use so that importing stays quick."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._source = "|".join(f"(?:{pattern})" for pattern in patterns)

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._source)

    def search(self, text: str) -> re.Match[str] | None:
        """The first place in a normalised text where one of the patterns matches, or None."""
        return self._compiled.search(text)


def any_of(*patterns: str) -> AnyOf:
    """A matcher for any of these pattern sources."""
    return AnyOf(patterns)


def words_of(text: str) -> frozenset[str]:
    """The words of a table."""
    return frozenset(text.split())


def one_of(words: Iterable[str]) -> str:
    """A pattern source for any of these words, longest first."""
    return "(?:" + "|".join(re.escape(word) for word in sorted(words, key=_longest_first)) + ")"


def _longest_first(word: str) -> tuple[int, str]:
    return -len(word), word
