"""The guard's words in English and Japanese, from `vocabulary.txt`."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path


def lines_of(section: str) -> tuple[tuple[str, ...], ...]:
    """The lines of a section, in words."""
    return _sections()[section]


@cache
def words_of(section: str) -> frozenset[str]:
    """All words of a section."""
    return frozenset(word for line in lines_of(section) for word in line)


@cache
def values_of(section: str) -> Mapping[str, float]:
    """The words of a section whose lines begin with their value."""
    return {word: float(line[0]) for line in lines_of(section) for word in line[1:]}


@cache
def _sections() -> Mapping[str, tuple[tuple[str, ...], ...]]:
    text = Path(__file__).with_name("vocabulary.txt").read_text(encoding="utf-8")
    parts = (part.partition("]\n") for part in text.split("\n[")[1:])
    return {
        head.partition(":")[0]: tuple(tuple(line.split()) for line in body.splitlines() if line)
        for head, _, body in parts
    }
