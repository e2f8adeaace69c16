"""Find the bullets that say the same, in time that grows with their number and not its square.

Vectors that may be near are found without comparing all with all, and without numpy.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from operator import gt, mul
from typing import NamedTuple, TypeAlias

from acc_ace.playbook.refine.retirement import helpful_share
from acc_ace.schemas.bullet import Bullet
from acc_ace.text.duplicates import SAME_TERMS, Vector, same_meaning, same_wording
from acc_ace.text.lessons.lesson_features import Lesson, read

BAND_BITS = 8
"""Signs in a band. Of 48 bands one agrees in 99 of 100 pairs that differ in a quarter of signs."""

ALL_WITH_ALL = 2_048
"""Vectors up to which no bands are needed."""

FEW = 64
"""Vectors up to which a mean says little, so that nothing is left out by signs."""

MOST_APART = 0.36
"""Share of signs in which near vectors may differ."""


class Signs(NamedTuple):
    """The signs of a vector as a number, and cut into bands."""

    bits: int
    most_apart: int
    """Bits in which a near vector may differ."""
    bands: tuple[tuple[int, bytes], ...]
    """Position and signs; near vectors share one."""


def nearness(first: Vector, second: Vector) -> float:
    """Cosine of two vectors of unit length; -1 where their dimensions differ."""
    if len(first) != len(second):
        return -1.0
    return math.fsum(map(mul, first, second))


def signs_of(vectors: Mapping[str, Vector]) -> dict[str, Signs]:
    """The signs of each vector, by id; vectors of another dimension than the first are left out."""
    if not vectors:
        return {}
    dimension = len(next(iter(vectors.values())))
    alike = {name: vector for name, vector in vectors.items() if len(vector) == dimension}
    if len(alike) <= FEW:
        return dict.fromkeys(alike, Signs(0, 0, _WHOLE))
    # Embedders give vectors that share a large mean, which would leave few signs to differ.
    means = [sum(column) / len(alike) for column in zip(*alike.values(), strict=True)]
    banded = len(alike) > ALL_WITH_ALL
    return {name: _signs(vector, means, banded=banded) for name, vector in alike.items()}


def _signs(vector: Vector, means: list[float], *, banded: bool) -> Signs:
    signs = bytes(map(gt, vector, means))
    cuts = range(0, len(signs), BAND_BITS)
    return Signs(
        bits=int(signs.translate(_DIGITS), 2),
        most_apart=int(MOST_APART * len(signs)),
        bands=tuple((at, signs[at : at + BAND_BITS]) for at in cuts) if banded else _WHOLE,
    )


_WHOLE = ((0, b""),)
_DIGITS = bytes.maketrans(b"\0\1", b"01")

MOST_CANDIDATES = 128
"""Bullets that one bullet is compared with at most by its words, and again by its vector."""

MOST_COMPARED = 4_096
"""Bullets whose signs one bullet's are compared with at most, to the end of a band."""

SAME_MEANING = 0.94
"""Cosine from which two vectors may stand for one meaning."""

_Files: TypeAlias = defaultdict[Hashable, list[Bullet]]


class Cluster(NamedTuple):
    """Bullets that say the same: the one that stays, and those that go into it."""

    survivor: Bullet
    sources: list[Bullet]
    reason: str


class _Kept:
    """The bullets that stay so far, and where to find them."""

    def __init__(self, vectors: Mapping[str, Vector]) -> None:
        self._vectors = vectors
        self._by_text: dict[str, Bullet] = {}
        self._by_core: _Files = defaultdict(list)
        self._by_pair: _Files = defaultdict(list)
        self._by_band: defaultdict[Hashable, list[tuple[int, Bullet]]] = defaultdict(list)

    def like(self, bullet: Bullet, lesson: Lesson, keys: "_Keys") -> tuple[Bullet, str] | None:
        """The first bullet that says the same, with the reason; None if none does."""
        same = self._by_text.get(lesson.plain)
        if same is not None:
            return same, "near_duplicate"
        for other in _few(self._by_pair.get(key) for key in keys.core):
            if same_wording(read(other.content), lesson):
                return other, "near_duplicate"
        for other in _few(self._by_core.get(key) for key in keys.pairs):
            if same_wording(read(other.content), lesson):
                return other, "near_duplicate"
        near = None if keys.signs is None else self._near(bullet, lesson, keys.signs, keys.bands)
        return None if near is None else (near, "same_meaning")

    def _near(
        self, bullet: Bullet, lesson: Lesson, signs: Signs, bands: Sequence[Hashable]
    ) -> Bullet | None:
        vector = self._vectors[bullet.id]
        for other in islice(self._likely(signs, bands), MOST_CANDIDATES):
            near = nearness(self._vectors[other.id], vector)
            if near >= SAME_MEANING and same_meaning(read(other.content), lesson):
                return other
        return None

    def _likely(self, signs: Signs, bands: Sequence[Hashable]) -> Iterator[Bullet]:
        """The bullets that share a band and differ in few signs, each once."""
        seen: set[str] = set()
        bits, most, left = signs.bits, signs.most_apart, MOST_COMPARED
        for band in bands:
            filed = self._by_band.get(band, ())
            for other in [item for held, item in filed if (held ^ bits).bit_count() <= most]:
                if other.id not in seen:
                    seen.add(other.id)
                    yield other
            left -= len(filed)
            if left <= 0:
                return

    def add(self, bullet: Bullet, lesson: Lesson, keys: "_Keys") -> None:
        """File a bullet that stays."""
        if lesson.plain:
            self._by_text.setdefault(lesson.plain, bullet)
        for name in keys.core:
            self._by_core[name].append(bullet)
        for name in keys.pairs:
            self._by_pair[name].append(bullet)
        if keys.signs is not None:
            for name in keys.bands:
                self._by_band[name].append((keys.signs.bits, bullet))


def _few(files: Iterable[list[Bullet] | None], *, most: int = MOST_CANDIDATES) -> Iterator[Bullet]:
    """The bullets of some files, each once, at most `most`."""
    seen: set[str] = set()
    for bullets in files:
        for bullet in bullets or ():
            if bullet.id not in seen:
                seen.add(bullet.id)
                yield bullet
                if len(seen) >= MOST_CANDIDATES:
                    return


class _Keys(NamedTuple):
    """Where a bullet is filed, so that those like it are found."""

    core: list[Hashable]
    """The two rarest terms, as of the smaller one of a pair."""
    pairs: list[Hashable]
    """Pairs of terms of which one is the core of any smaller one."""
    bands: list[Hashable]
    signs: Signs | None


def clusters(bullets: Sequence[Bullet], vectors: Mapping[str, Vector]) -> list[Cluster]:
    """The bullets that say the same as another, by the bullet that stays.

    Pinned bullets stay, then those with the better record, then older ones. `vectors` are by id;
    a bullet without one is compared by its words alone.
    """
    lessons = {bullet.id: read(bullet.content) for bullet in bullets}
    frequency = Counter(term for lesson in lessons.values() for term in lesson.terms)
    signs = signs_of({bullet.id: vectors[bullet.id] for bullet in bullets if bullet.id in vectors})
    kept = _Kept(vectors)
    groups: dict[Hashable, int] = {}
    found: dict[str, Cluster] = {}
    for bullet in _by_precedence(bullets):
        lesson = lessons[bullet.id]
        keys = _keys(lesson, frequency, signs.get(bullet.id), groups)
        like = None if bullet.pinned else kept.like(bullet, lesson, keys)
        if like is None:
            kept.add(bullet, lesson, keys)
            continue
        survivor, reason = like
        cluster = found.setdefault(survivor.id, Cluster(survivor, [], reason))
        cluster.sources.append(bullet)
    return list(found.values())


def _by_precedence(bullets: Sequence[Bullet]) -> list[Bullet]:
    def rank(position: int) -> tuple[bool, float, int]:
        bullet = bullets[position]
        share = helpful_share(bullet)
        return not bullet.pinned, share.spread - share.mean, position

    return [bullets[position] for position in sorted(range(len(bullets)), key=rank)]


def _keys(
    lesson: Lesson,
    frequency: Mapping[str, int],
    signs: Signs | None,
    groups: dict[Hashable, int],
) -> _Keys:
    """Where to file a lesson. What is equal in all duplicates is part of it."""
    if not lesson.plain or not lesson.terms:
        return _Keys([], [], [], None)
    terms = sorted(lesson.terms, key=lambda term: (frequency[term], term))
    beside = len(terms) - math.ceil(SAME_TERMS * len(terms))
    # A lesson of one term has no pair; it is filed under the term alone.
    few = terms[: beside + 2]
    pairs: list[tuple[str, ...]] = [*combinations(few, 2)] if len(few) > 1 else [(few[0],)]
    # A name with a figure in it is always seen as a name, whatever its case.
    labels = frozenset(name for name in lesson.names if not name.isalpha())
    # As a number, since it is part of every key.
    group = groups.setdefault((lesson.numbers, lesson.denials, labels), len(groups))
    return _Keys(
        core=[(group, pairs[0])],
        pairs=[(group, pair) for pair in pairs],
        bands=[(group, at, band) for at, band in signs.bands] if signs else [],
        signs=signs,
    )
