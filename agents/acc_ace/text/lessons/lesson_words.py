"""The notes taken while a text is read from left to right."""

from dataclasses import dataclass, field
from typing import NamedTuple

_TIMES = dict.fromkeys(("回", "度", "つ", "件", "個"), "")
"""Counters that only count."""


class Word(NamedTuple):
    """A term and where it stands in the text."""

    term: str
    at: int


class Denial(NamedTuple):
    """A 'not' and the term that it denies; '' when none was found."""

    term: str
    at: int


@dataclass
class Reading:
    """What was read so far."""

    words: list[Word] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    poles: set[str] = field(default_factory=set)
    denials: list[Denial] = field(default_factory=list)
    sources: set[str] = field(default_factory=set)
    targets: set[str] = field(default_factory=set)
    stops: list[int] = field(default_factory=list)
    pauses: list[int] = field(default_factory=list)
    begins: bool = True
    """Whether the next word is the first one of a sentence, where a capital tells nothing."""
    denies: int | None = None
    """Where a 'not' stands that waits for the word it denies."""
    towards: str = ""
    """'to' or 'from' while it waits for its word."""

    def add(self, word: Word) -> None:
        """Take a word that carries meaning."""
        self.words.append(word)
        if self.denies is not None:
            self.denials.append(Denial(word.term, self.denies))
            self.denies = None
        if self.towards:
            (self.targets if self.towards == "to" else self.sources).add(word.term)
            self.towards = ""

    def number(self, value: str, unit: str = "") -> None:
        """Take a number with its Japanese counter; a bare 1 says no more than the singular does."""
        unit = _TIMES.get(unit, unit)
        if value != "1" or unit:
            self.numbers.append(value + unit)

    def deny_next(self, at: int) -> None:
        """A 'not': it denies the next word."""
        if self.denies is not None:
            self.denials.append(Denial("", self.denies))
        self.denies = at

    def deny_last(self, at: int) -> None:
        """A 'not' behind its word."""
        self.denials.append(Denial(self.words[-1].term if self.words else "", at))

    def end_sentence(self, at: int) -> None:
        """A full stop: what waits for a word waits no longer."""
        self.stops.append(at)
        self.begins = True
        self.towards = ""
        if self.denies is not None:
            self.denials.append(Denial("", self.denies))
            self.denies = None
