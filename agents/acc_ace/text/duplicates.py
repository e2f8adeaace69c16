"""Judge whether two lessons say the same: by their wording, or by their vectors within guards.

This is the one notion of duplicates: the Curator's guard and refinement both ask it. Contraries
are in `claim`.

Vectors are 32-bit floats that any library can read in place; numpy is not needed.
"""

import math
from array import array
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import combinations
from typing import TYPE_CHECKING

from acc_ace.text.lessons.lesson_en import opposites_of as opposites_en
from acc_ace.text.lessons.lesson_features import Lesson
from acc_ace.text.lessons.lesson_ja import opposites_of as opposites_ja

SAME_TERMS = 0.8
"""Share of all terms that two wordings of one lesson have in common."""

_SLOT = 0.5
"""Share of terms in the same order from which a replaced word is another filling of one slot."""

_ONE_SLOT = 3
"""Runs of a comparison in which one run differs: what stands before it, it, what stands behind."""


def same_wording(first: Lesson, second: Lesson) -> bool:
    """Whether two lessons differ in nothing but their wording. Symmetric.

    The terms of one must contain those of the other, and most must be shared: a word on each
    side that the other lacks is taken for another thing to do, however alike the rest.
    """
    if not first.plain or not second.plain:
        return False
    if first.plain == second.plain:
        return True
    if not (first.terms <= second.terms or second.terms <= first.terms) or not first.terms:
        return False
    shared = len(first.terms & second.terms)
    if shared < SAME_TERMS * len(first.terms | second.terms):
        return False
    return not told_apart(first, second)


def same_meaning(first: Lesson, second: Lesson) -> bool:
    """Whether nothing speaks against two lessons of near vectors saying the same. Symmetric.

    A lesson that only adds terms to another narrows it, and one that fills the same pattern
    otherwise is about another thing; vectors hardly see either.
    """
    if not first.plain or not second.plain:
        return False
    if first.terms < second.terms or second.terms < first.terms:
        return False
    return not told_apart(first, second) and not _other_filling(first.sequence, second.sequence)


def told_apart(first: Lesson, second: Lesson) -> bool:
    """Whether a guard keeps two lessons apart: numbers, names, denials, opposites, order."""
    return (
        first.numbers != second.numbers
        or not first.names <= second.terms
        or not second.names <= first.terms
        or _denials_differ(first, second)
        or _opposed(first.poles, second.poles)
        or _reversed(first, second)
    )


def _denials_differ(first: Lesson, second: Lesson) -> bool:
    if first.denials != second.denials:
        return True
    return bool(
        (first.denied - second.denied) & second.terms
        or (second.denied - first.denied) & first.terms
    )


def _opposed(first: frozenset[str], second: frozenset[str]) -> bool:
    """Whether one says a word whose opposite the other says, and not that word too."""
    only_first, only_second = first - second, second - first
    if not only_first or not only_second:
        return False
    return any((opposites_en(word) | opposites_ja(word)) & only_second for word in only_first)


def _reversed(first: Lesson, second: Lesson) -> bool:
    """Whether what comes first in one comes last in the other, or goes the other way."""
    if first.targets & second.sources and second.targets & first.sources:
        only_first = first.targets - second.targets
        if only_first & second.sources and (second.targets - first.targets) & first.sources:
            return True
    if not first.ranks or not second.ranks:
        return False
    return _discordant(dict(first.ranks), dict(second.ranks))


def _discordant(first: dict[str, int], second: dict[str, int]) -> bool:
    """Whether the terms that belong to other steps changed places with one another."""
    moved = [term for term, step in first.items() if second.get(term, step) != step]
    return any(
        (first[one] - first[other]) * (second[one] - second[other]) < 0
        for one, other in combinations(moved, 2)
    )


def _other_filling(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether two texts are one pattern with another word in a slot."""
    matcher = SequenceMatcher(a=first, b=second, autojunk=False)
    kinds = [tag for tag, *_ in matcher.get_opcodes()]
    if "replace" not in kinds:
        return False
    # However long the phrase in the slot is: if it is all that differs, it is what the text is of.
    return matcher.ratio() >= _SLOT or (kinds.count("equal") > 0 and len(kinds) <= _ONE_SLOT)


if TYPE_CHECKING:
    Vector = array[float]
else:
    # Python 3.11 has no array[float] at run time.
    Vector = array
"""An array of 32-bit floats (typecode 'f')."""

MAX_DIMENSION = 4_000
"""Longest vector that is kept: the most that pgvector can index as half-precision floats."""


def unit_vector(values: Iterable[float]) -> Vector:
    """The values at length 1.

    Raises ValueError for no values, too many, one that is not finite, or nothing but zeros.
    """
    vector = array("f", values)
    if not 0 < len(vector) <= MAX_DIMENSION:
        raise ValueError(f"a vector of {len(vector)} numbers; 1 to {MAX_DIMENSION} are expected")
    length = math.sqrt(math.fsum(value * value for value in vector))
    if not math.isfinite(length) or not length:
        raise ValueError("a vector of no length, or with a number that is not finite")
    return array("f", (value / length for value in vector))
