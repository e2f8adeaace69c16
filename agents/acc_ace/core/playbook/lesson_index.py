"""Index of a playbook's lessons: find duplicates and contradictions.

Bullets can also be searched by words or by id.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from pydantic import Field

from acc_ace.core.playbook.playbook_size import PlaybookSize
from acc_ace.core.playbook.selection_index import bullet_terms, terms_of
from acc_ace.core.schemas.base import Value
from acc_ace.core.schemas.bullet import Bullet, clean_id
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook
from acc_ace.core.text.duplicates import ALIKE, Lesson, alike, contrary, lesson_of

_Files: TypeAlias = defaultdict[Hashable, dict[str, Lesson]]


class LessonIndex:
    """The lessons and the size of all bullets, updated by `add` and `discard`."""

    def __init__(self, bullets: Iterable[Bullet]) -> None:
        self._by_terms: _Files = defaultdict(dict)
        self._by_claim: _Files = defaultdict(dict)
        self._by_word: _Files = defaultdict(dict)
        self._size = PlaybookSize()
        for bullet in bullets:
            self.add(bullet)

    def add(self, bullet: Bullet) -> None:
        """Index a bullet."""
        lesson = lesson_of(bullet.content)
        for files in self._filed(lesson):
            files[bullet.id] = lesson
        self._size.add(bullet)

    def discard(self, bullet: Bullet) -> None:
        """Remove a bullet; pass the value that was added."""
        for files in self._filed(lesson_of(bullet.content)):
            files.pop(bullet.id)
        self._size.drop(bullet)

    def same(self, text: str, *, apart_from: Collection[str] = ()) -> str | None:
        """The id of the oldest other bullet, of any section, that says the same."""
        terms = lesson_of(text).terms
        found = self._by_terms[terms] if terms else {}
        return next((bullet_id for bullet_id in found if bullet_id not in apart_from), None)

    def contrary(self, text: str, *, apart_from: Collection[str] = ()) -> list[str]:
        """The ids of other bullets that contradict the text."""
        lesson = lesson_of(text)
        files = [self._by_claim[key] for key in lesson.claim.found_by]
        return _fitting(contrary, lesson, files, apart_from)

    def alike(self, text: str, *, apart_from: Collection[str] = ()) -> list[str]:
        """The ids of other bullets that may be paraphrases."""
        lesson = lesson_of(text)
        files = sorted((self._by_word[key] for key in _words(lesson)), key=len)
        # Pigeonhole: a match may miss only so many words, so it has one of any larger set.
        may_miss = len(files) - math.ceil(ALIKE * len(files))
        return _fitting(alike, lesson, files[: may_miss + 1], apart_from)

    def _filed(self, lesson: Lesson) -> Iterator[dict[str, Lesson]]:
        yield self._by_terms[lesson.terms]
        yield from (self._by_claim[key] for key in lesson.claim.found_by)
        yield from (self._by_word[key] for key in _words(lesson))

    def has_room(
        self, section: str, text: str, limits: Limits, *, leaving: Collection[Bullet] = ()
    ) -> bool:
        """Whether a text fits into a section once the `leaving` bullets are removed.

        A change that makes nothing larger is always allowed, even if a limit was lowered.
        """
        return self._size.has_room(section, text, limits, leaving=leaving)


def _words(lesson: Lesson) -> list[Hashable]:
    """The index keys of a lesson's words; each includes the guards, which `alike` compares."""
    guards = frozenset(lesson.guards.items())
    return [(guards, word) for word in sorted(lesson.content)]


def _fitting(
    fits: Callable[[Lesson, Lesson], bool],
    lesson: Lesson,
    files: Iterable[Mapping[str, Lesson]],
    apart_from: Collection[str],
) -> list[str]:
    near = {bullet_id: other for found in files for bullet_id, other in found.items()}
    return [
        bullet_id
        for bullet_id, other in near.items()
        if bullet_id not in apart_from and fits(other, lesson)
    ]


MOST_QUERY_CHARACTERS = 2_000


class Hit(Value):
    """A matching bullet with its score, 0 to 1."""

    bullet: Bullet
    score: float = Field(description="Share of the query terms it has, rare words weigh more.")


def search_bullets(playbook: Playbook, text: str, *, limit: int) -> list[Hit]:
    """The bullets that match a text best, at most `limit`, best first, oldest first on a tie.

    If the text is a bullet's id, that bullet comes first.
    """
    asked = text[:MOST_QUERY_CHARACTERS]
    wanted = terms_of(asked)
    found = [wanted & bullet_terms(bullet.section, bullet.content) for bullet in playbook.bullets]
    frequency = Counter(term for terms in found for term in terms)
    weight = {
        term: math.log1p(len(found) / max(1, frequency.get(term, 0))) for term in sorted(wanted)
    }
    total = math.fsum(weight.values())
    bullet_id = clean_id(asked)
    hits = [
        Hit(bullet=bullet, score=1.0 if bullet.id == bullet_id else round(share, 4))
        for bullet, terms in zip(playbook.bullets, found, strict=True)
        if (share := math.fsum(weight[term] for term in terms) / total if total else 0.0)
        or bullet.id == bullet_id
    ]
    hits.sort(key=lambda hit: -hit.score)
    return hits[:limit]


def contradicted(
    playbook: Playbook, records: Iterable[DeltaRecord]
) -> Mapping[int, Sequence[Bullet]]:
    """By `seq`, the live bullets that a held operation may contradict, repeat or merge."""
    index = LessonIndex(playbook.bullets)
    by_id = playbook.by_id
    found: dict[int, Sequence[Bullet]] = {}
    for record in records:
        if record.operation is None:
            continue
        own = {record.bullet_id or "", *record.operation.source_ids}
        said = record.operation.content or ""
        names = [*record.operation.source_ids]
        if said:
            names += index.contrary(said, apart_from=own) or index.alike(said, apart_from=own)
        bullets = [by_id[name] for name in names if name in by_id]
        if bullets:
            found[record.seq] = bullets
    return found
