"""What the bullets of a playbook say, for looking up: who says the same, who the contrary.

A person finds bullets by their words or their id.
"""

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence

from pydantic import Field

from acc_ace.playbook.playbook_size import PlaybookSize
from acc_ace.playbook.selection_index import bullet_terms, terms_of
from acc_ace.schemas.base import Value
from acc_ace.schemas.bullet import Bullet, clean_id
from acc_ace.schemas.limits import Limits
from acc_ace.schemas.playbook import DeltaRecord, Playbook
from acc_ace.text.claim import Claim, claim_of
from acc_ace.text.duplicates import SAME_TERMS, same_wording
from acc_ace.text.lessons.lesson_features import Lesson, read


class LessonIndex:
    """The lessons, the claims and the size of all bullets, kept in step by `add` and `discard`."""

    def __init__(self, bullets: Iterable[Bullet]) -> None:
        self._lessons: dict[Hashable, dict[str, Lesson]] = {}
        self._added: dict[str, int] = {}
        self._claims: dict[str, dict[str, Claim]] = {}
        self._size = PlaybookSize()
        self._count = 0
        for bullet in bullets:
            self.add(bullet)

    def add(self, bullet: Bullet) -> None:
        """Take a bullet in."""
        lesson = read(bullet.content)
        for key in _keys(lesson):
            self._lessons.setdefault(key, {})[bullet.id] = lesson
        claim = claim_of(bullet.content)
        for found_by in claim.found_by:
            self._claims.setdefault(found_by, {})[bullet.id] = claim
        self._added[bullet.id] = self._count
        self._count += 1
        self._size.add(bullet)

    def discard(self, bullet: Bullet) -> None:
        """Leave a bullet out, as it was when it was added."""
        for key in _keys(read(bullet.content)):
            self._lessons[key].pop(bullet.id)
        for found_by in claim_of(bullet.content).found_by:
            self._claims[found_by].pop(bullet.id)
        del self._added[bullet.id]
        self._size.drop(bullet)

    def same(self, text: str, *, apart_from: Collection[str] = ()) -> str | None:
        """The id of the oldest other bullet, of any section, that says the same."""
        lesson = read(text)
        found = {
            bullet_id
            for files in self._candidates(lesson)
            for bullet_id, other in files.items()
            if bullet_id not in apart_from and same_wording(other, lesson)
        }
        return min(found, key=self._added.__getitem__, default=None)

    def _candidates(self, lesson: Lesson) -> Iterator[dict[str, Lesson]]:
        """Where every duplicate of a lesson is filed.

        A duplicate lacks at most a fifth of the terms, so it has one of any that are more.
        """
        exact, *terms = [self._lessons.get(key, {}) for key in _keys(lesson)]
        yield exact
        lacking = len(terms) - math.ceil(SAME_TERMS * len(terms))
        yield from sorted(terms, key=len)[: lacking + 1]

    def contrary(self, text: str, *, apart_from: Collection[str] = ()) -> list[str]:
        """The ids of other bullets that contradict the text."""
        claim = claim_of(text)
        found = {
            bullet_id: None
            for key in claim.found_by
            for bullet_id, other in self._claims.get(key, {}).items()
            if bullet_id not in apart_from and claim.excludes(other)
        }
        return list(found)

    def has_room(
        self, section: str, text: str, limits: Limits, *, leaving: Collection[Bullet] = ()
    ) -> bool:
        """Whether a text may join a section when other bullets leave.

        A change that makes nothing larger is always possible, whatever the limits are now.
        """
        return self._size.has_room(section, text, limits, leaving=leaving)


def _keys(lesson: Lesson) -> list[Hashable]:
    """Where a lesson is filed: under its text, and under each of its terms.

    What is equal in all duplicates is part of the keys of terms.
    """
    group = (lesson.numbers, lesson.denials)
    return [lesson.plain, *((group, term) for term in sorted(lesson.terms))]


MOST_QUERY_CHARACTERS = 2_000


class Hit(Value):
    """A bullet that fits, with its score, 0 to 1."""

    bullet: Bullet
    score: float = Field(description="Share of what was asked for, rare words counting more.")


def search_bullets(playbook: Playbook, text: str, *, limit: int) -> list[Hit]:
    """The bullets that fit a text best, at most `limit`, the best first, then the oldest.

    A text that is the id of a bullet finds that bullet first.
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
    """By `seq`, the live bullets whose contrary a held operation says; the others are left out."""
    index = LessonIndex(playbook.bullets)
    by_id = {bullet.id: bullet for bullet in playbook.bullets}
    found: dict[int, Sequence[Bullet]] = {}
    for record in records:
        said = "" if record.operation is None else record.operation.content or ""
        if said:
            own = () if record.bullet_id is None else (record.bullet_id,)
            bullets = [by_id[name] for name in index.contrary(said, apart_from=own)]
            if bullets:
                found[record.seq] = bullets
    return found
