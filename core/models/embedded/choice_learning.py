"""Reflect on a task of choices whose right options are known: which lessons held, what is new."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.models.embedded.choices import Task, lesson_of, option_of, read_task
from core.models.embedded.views import BulletView
from schemas.reflection import BulletTag, Tag

LESSONS_APART = "\n"
"""Between the lessons of one insight; the Curator takes each for a bullet of its own."""


@dataclass(frozen=True)
class ChoiceFinding:
    """Tags of the lessons that were used, and the lessons of the questions that went wrong."""

    tags: tuple[BulletTag, ...]
    wrong: tuple[str, ...]
    lessons: tuple[str, ...]


def reflect_on_choices(
    text: str, answer: str, truth: str, bullets: Sequence[BulletView]
) -> ChoiceFinding | None:
    """What a known answer teaches, or None when the text sets no such task."""
    task = read_task(text)
    right = _items(truth)
    if task is None or len(right) != len(task.questions):
        return None
    given = [*_items(answer), *[""] * len(right)][: len(right)]
    missed = [at for at, (one, other) in enumerate(zip(given, right, strict=True)) if one != other]
    return ChoiceFinding(
        tags=tuple(BulletTag(id=item.id, tag=_tag(item, given, right)) for item in bullets),
        wrong=tuple(f"{given[at] or 'nothing'} instead of {right[at]}" for at in missed),
        lessons=_lessons(task, right, missed),
    )


def _lessons(task: Task, right: Sequence[str], missed: Sequence[int]) -> tuple[str, ...]:
    told = (lesson_of(task.questions[at], right[at]) for at in missed if right[at] in task.options)
    return tuple(dict.fromkeys(lesson for lesson in told if lesson))


def _tag(bullet: BulletView, given: Sequence[str], right: Sequence[str]) -> Tag:
    """A lesson helped where its option was chosen rightly, and harmed where wrongly."""
    option = option_of(bullet.content)
    chosen = [truth == option for one, truth in zip(given, right, strict=True) if one == option]
    balance = 2 * sum(chosen) - len(chosen)
    return "helpful" if balance > 0 else "harmful" if balance < 0 else "neutral"


def _items(text: str) -> list[str]:
    lines = text.strip().splitlines()
    return [item.strip() for item in lines[0].split(",")] if lines else []
