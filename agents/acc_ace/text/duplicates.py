"""Judge two lessons: the same, contrary, or so alike that a person must decide.

The same are those whose terms are equal, one by one: what two lessons may differ in is a short
list (`HARMLESS`, inflection, synonyms, two or three moves within a sentence), and everything else
is a difference. So a condition, a direction, a number, a flag or a particle need not be known for
one to keep two lessons apart.

Vectors are 32-bit floats that any library can read in place; numpy is not needed.
"""

import math
from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from difflib import SequenceMatcher
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from acc_ace.text.lessons.lesson_en import CONDITIONS, MARK, NOT, OPTIONAL
from acc_ace.text.lessons.lesson_ja import MAY
from acc_ace.text.lessons.reading import Measure, measure_of, terms_of_lesson
from acc_ace.text.lexicon_en import LINKING as LINKING_EN
from acc_ace.text.lexicon_en import word_class
from acc_ace.text.lexicon_ja import LINKING as LINKING_JA
from acc_ace.text.polarity import NEGATIVES_EN, NEGATIVES_JA
from acc_ace.text.similarity import content_words

REMEMBERED: Final = 32_768
"""Lessons that are kept as read, so that a batch does not read a whole playbook again."""

ALIKE: Final = 0.5
"""Shared part of the content words from which two lessons may well be one."""

_LEADING: Final = frozenset((NOT, "from", "befor", "after"))
_TRAILING: Final = frozenset(("から", "へ", "まで", "より"))
"""Terms that say which way the next or the last one goes."""


class Claim(NamedTuple):
    """What a lesson sets or forbids, for finding one that sets or forbids otherwise."""

    frame: tuple[str, ...]
    """The lesson without its negations and numbers."""
    negations: frozenset[int]
    """Where in the frame a negation stood, outside of conditions."""
    measures: tuple[Measure, ...]
    """Its numbers, in order."""
    subject: tuple[str, ...]
    """The words of the frame, sorted: what the numbers are of; () without numbers."""

    @property
    def found_by(self) -> tuple[Hashable, ...]:
        """What it shares with every contrary claim: the frame, or the subject of its numbers."""
        return (self.frame, ("", *self.subject)) if self.subject else (self.frame,)


class Lesson(NamedTuple):
    """A text for comparison. Two of the same terms say the same."""

    terms: tuple[str, ...]
    claim: Claim
    content: frozenset[str]
    """The words that carry its topic."""
    guards: Counter[str]


@lru_cache(maxsize=REMEMBERED)
def lesson_of(text: str) -> Lesson:
    """What a text says; remembers the texts it has read."""
    terms = terms_of_lesson(text)
    return Lesson(
        terms=terms,
        claim=_claim(terms),
        content=content_words(" ".join(term for term in terms if not _figure(term))),
        guards=Counter(_guards(terms)),
    )


def same(first: Lesson, second: Lesson) -> bool:
    """Whether two lessons say something, and nothing that could matter tells them apart."""
    return first.terms == second.terms != ()


def contrary(first: Lesson, second: Lesson) -> bool:
    """Whether one forbids what the other asks for, or sets another number. Symmetric."""
    one, other = first.claim, second.claim
    if one.frame == other.frame and one.measures == other.measures:
        return len(one.negations ^ other.negations) == 1
    return (
        bool(one.subject)
        and one.subject == other.subject
        and len(one.negations) == len(other.negations)
        and [item.unit for item in one.measures] == [item.unit for item in other.measures]
        and one.measures != other.measures
    )


def near(first: Lesson, second: Lesson) -> bool:
    """Whether two lessons share most of their words, and all figures, denials, directions."""
    if first.guards != second.guards or first.terms == second.terms:
        return False
    shared = len(first.content & second.content)
    return shared > 0 and shared >= ALIKE * len(first.content | second.content)


def alike(first: Lesson, second: Lesson) -> bool:
    """Whether two lessons that differ may be one in other words, which a person must say.

    Not where the difference is known: something else, or something more, in one place.
    """
    return near(first, second) and not _one_change(first.terms, second.terms)


def _one_change(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Whether two lessons are one pattern with something else, or something more, in one place."""
    matcher = SequenceMatcher(a=first, b=second, autojunk=False)
    return sum(tag != "equal" for tag, *_ in matcher.get_opcodes()) == 1


def _guards(terms: tuple[str, ...]) -> Iterator[str]:
    """What two lessons that are one in other words agree in: figures, denials, directions."""
    for term, following in pairwise((*terms, "")):
        if term in _LEADING or following in _TRAILING:
            yield f"{term} {following}"
        elif term in (OPTIONAL, MAY) or _figure(term):
            yield term


def _figure(term: str) -> bool:
    return any(char.isdigit() for char in term)


def _claim(terms: tuple[str, ...]) -> Claim:
    frame: list[str] = []
    negations: set[int] = set()
    measures: list[Measure] = []
    bound = False
    for term in terms:
        bound = bound or term in _conditions()
        positive = _positives().get(term)
        measure = measure_of(term)
        if positive is not None or (term == NOT and not bound):
            negations ^= {len(frame)}
        if measure is not None:
            measures.append(measure)
            frame.append(MARK + measure.unit)
        elif positive is not None:
            frame.append(positive)
        elif term not in _linking() and (term != NOT or bound):
            frame.append(term)
    return Claim(
        frame=tuple(frame),
        negations=frozenset(negations),
        measures=tuple(measures),
        subject=tuple(sorted(frame)) if measures and len(measures) < len(frame) else (),
    )


# Stemming a table takes milliseconds, so it waits until a lesson is read.
@cache
def _conditions() -> frozenset[str]:
    return frozenset(map(word_class, CONDITIONS))


@cache
def _linking() -> frozenset[str]:
    return frozenset(map(word_class, LINKING_EN)) | LINKING_JA | {MAY}


@cache
def _positives() -> dict[str, str]:
    """The term of each negative with that of its positive."""
    english = {word_class(one): word_class(other) for one, other in NEGATIVES_EN.items()}
    return english | dict(NEGATIVES_JA)


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
