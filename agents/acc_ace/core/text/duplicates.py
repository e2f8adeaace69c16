"""Compare two lessons: duplicates, contradictions, or similar enough to need review.

Duplicates have equal terms, one by one. Only a short list of differences is ignored (`HARMLESS`
words, inflection, synonyms, a few word orders); everything else counts. So conditions,
directions, numbers, flags and particles separate two lessons without being known to the code.

Vectors are arrays of 32-bit floats, which any library can read in place; numpy is not needed.
"""

import math
from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from difflib import SequenceMatcher
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from acc_ace.core.text.lessons.lesson_en import CONDITIONS, MARK, NOT, OPTIONAL
from acc_ace.core.text.lessons.lesson_ja import MAY
from acc_ace.core.text.lessons.reading import Measure, measure_of, terms_of_lesson
from acc_ace.core.text.lexicon_en import LINKING as LINKING_EN
from acc_ace.core.text.lexicon_en import word_class
from acc_ace.core.text.lexicon_ja import LINKING as LINKING_JA
from acc_ace.core.text.polarity import NEGATIVES_EN, NEGATIVES_JA
from acc_ace.core.text.similarity import content_words

REMEMBERED: Final = 32_768
"""Cache size for parsed lessons, so that a batch does not parse the whole playbook again."""

ALIKE: Final = 0.5
"""Share of common content words from which two lessons may be paraphrases."""

_LEADING: Final = frozenset((NOT, "from", "befor", "after"))
_TRAILING: Final = frozenset(("から", "へ", "まで", "より"))
"""Terms that give the direction of the next or the previous term."""


class Claim(NamedTuple):
    """What a lesson sets or forbids, for finding contradictions."""

    frame: tuple[str, ...]
    """The lesson without its negations and numbers."""
    negations: frozenset[int]
    """Positions of negations in the frame, outside conditions."""
    measures: tuple[Measure, ...]
    """Its numbers, in order."""
    subject: tuple[str, ...]
    """The sorted words of the frame, which the numbers refer to; () without numbers."""

    @property
    def found_by(self) -> tuple[Hashable, ...]:
        """Index keys; every contradicting claim shares the frame or the subject."""
        return (self.frame, ("", *self.subject)) if self.subject else (self.frame,)


class Lesson(NamedTuple):
    """A text for comparison. Lessons with equal terms are duplicates."""

    terms: tuple[str, ...]
    claim: Claim
    content: frozenset[str]
    """Its content words."""
    guards: Counter[str]


@lru_cache(maxsize=REMEMBERED)
def lesson_of(text: str) -> Lesson:
    """Parse a text as a lesson; cached."""
    terms = terms_of_lesson(text)
    return Lesson(
        terms=terms,
        claim=_claim(terms),
        content=content_words(" ".join(term for term in terms if not _figure(term))),
        guards=Counter(_guards(terms)),
    )


def same(first: Lesson, second: Lesson) -> bool:
    """Whether two lessons are duplicates; empty ones never are."""
    return first.terms == second.terms != ()


def contrary(first: Lesson, second: Lesson) -> bool:
    """Whether one forbids what the other requires, or sets a different number. Symmetric."""
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
    """Whether two lessons share most words, and all numbers, negations and directions."""
    if first.guards != second.guards or first.terms == second.terms:
        return False
    shared = len(first.content & second.content)
    return shared > 0 and shared >= ALIKE * len(first.content | second.content)


def alike(first: Lesson, second: Lesson) -> bool:
    """Whether two different lessons may be paraphrases, which a person must decide.

    False if they differ in a single place, which is a real difference.
    """
    return near(first, second) and not _one_change(first.terms, second.terms)


def _one_change(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Whether the terms differ by one insertion, deletion or replacement."""
    matcher = SequenceMatcher(a=first, b=second, autojunk=False)
    return sum(tag != "equal" for tag, *_ in matcher.get_opcodes()) == 1


def _guards(terms: tuple[str, ...]) -> Iterator[str]:
    """Terms that paraphrases must share: numbers, negations, permissions and directions."""
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


# Stemming a table takes milliseconds, so it is done on first use.
@cache
def _conditions() -> frozenset[str]:
    return frozenset(map(word_class, CONDITIONS))


@cache
def _linking() -> frozenset[str]:
    return frozenset(map(word_class, LINKING_EN)) | LINKING_JA | {MAY}


@cache
def _positives() -> dict[str, str]:
    """The term of each negative word, mapped to that of its positive."""
    english = {word_class(one): word_class(other) for one, other in NEGATIVES_EN.items()}
    return english | dict(NEGATIVES_JA)


if TYPE_CHECKING:
    Vector = array[float]
else:
    # Python 3.11 has no array[float] at run time.
    Vector = array
"""An array of 32-bit floats (typecode 'f')."""

MAX_DIMENSION = 4_000
"""Maximum vector length: what pgvector can index as half-precision floats."""


def unit_vector(values: Iterable[float]) -> Vector:
    """The values scaled to length 1.

    Raises ValueError for none, too many or non-finite values, or only zeros.
    """
    vector = array("f", values)
    if not 0 < len(vector) <= MAX_DIMENSION:
        raise ValueError(f"a vector of {len(vector)} numbers; 1 to {MAX_DIMENSION} are expected")
    length = math.sqrt(math.fsum(value * value for value in vector))
    if not math.isfinite(length) or not length:
        raise ValueError("a vector of length zero, or with a number that is not finite")
    return array("f", (value / length for value in vector))
