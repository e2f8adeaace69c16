"""Index of a playbook's lessons, to find duplicates and contradictions; and both as they change."""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TypeAlias

from acc_ace.core.playbook.playbook_size import PlaybookSize
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.core.text.duplicates import ALIKE, Lesson, alike, contrary, lesson_of

_Files: TypeAlias = defaultdict[Hashable, dict[str, Lesson]]


class LessonIndex:
    """The lessons and the size of all bullets, updated by `add` and `discard`."""

    def __init__(self, bullets: Iterable[Bullet]) -> None:
        self._by_terms: _Files = defaultdict(dict)
        self._by_claim: _Files = defaultdict(dict)
        self._by_word: _Files = defaultdict(dict)
        self.size = PlaybookSize()
        for bullet in bullets:
            self.add(bullet)

    def add(self, bullet: Bullet) -> None:
        """Index a bullet."""
        lesson = lesson_of(bullet.content)
        for files in self._filed(lesson):
            files[bullet.id] = lesson
        self.size.add(bullet)

    def discard(self, bullet: Bullet) -> None:
        """Remove a bullet; pass the value that was added."""
        for files in self._filed(lesson_of(bullet.content)):
            files.pop(bullet.id)
        self.size.drop(bullet)

    def same(self, text: str, *, apart_from: Collection[str] = ()) -> str | None:
        """The id of the oldest other bullet, of any section, that says the same."""
        terms = lesson_of(text).terms
        files = self._by_terms[terms] if terms else {}
        return next((bullet_id for bullet_id in files if bullet_id not in apart_from), None)

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
    near = {bullet_id: other for file in files for bullet_id, other in file.items()}
    return [
        bullet_id
        for bullet_id, other in near.items()
        if bullet_id not in apart_from and fits(other, lesson)
    ]


class WorkingPlaybook:
    """The bullets as the operations so far have left them."""

    def __init__(self, playbook: Playbook) -> None:
        self._playbook = playbook
        self.draft = playbook.draft()
        self.merged_away: frozenset[str] = frozenset()
        """Ids of bullets that went into one that says the same as their new text."""
        self.is_crowded = False
        """Whether refining has freed nothing."""

    @cached_property
    def lessons(self) -> LessonIndex:
        """The index of the lessons; made when it is first asked for."""
        return LessonIndex(self.draft.bullets)

    def get(self, bullet_id: str | None) -> Bullet | None:
        """The bullet with an id, in any spelling of a model's, or None."""
        return self.draft.get(bullet_id or "")

    def restate(self, before: Iterable[Bullet], after: Bullet | None) -> None:
        """Index the lessons after a change of the draft."""
        lessons = self.__dict__.get("lessons")
        if lessons is None:
            return
        for bullet in before:
            lessons.discard(bullet)
        if after is not None:
            lessons.add(after)

    def become(self, playbook: Playbook) -> None:
        """Go on with the bullets of another playbook."""
        self.draft = playbook.draft()
        self.__dict__.pop("lessons", None)

    def playbook(self) -> Playbook:
        """The playbook with the changes so far."""
        return self._playbook.with_draft(self.draft)
