"""Play the Curator: at most a few small changes, and none when nothing was learned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.domain.language.words import negated
from core.models.embedded.choice_learning import LESSONS_APART
from core.models.embedded.choices import option_of
from core.models.embedded.lessons import CHOICES, PITFALLS, STRATEGIES, TOOLS
from core.models.embedded.matching import terms_of
from core.models.embedded.views import (
    BulletView,
    bullets_of,
    items_of,
    mapping_of,
    text_of,
)
from schemas.delta import DeltaBatch, DeltaOperation, DeltaType

_SAME = 0.8
_NEAR = 0.55
_HARM = 3
"""Harmful tags from which a bullet is removed, if they are more than twice the helpful ones."""

_MOST_REMOVED = 2
_MOST_LEARNED = 8
"""Lessons taken from one reflection."""


@dataclass(frozen=True)
class _Nearest:
    bullet: BulletView
    likeness: float


def curate(inputs: Mapping[str, object]) -> DeltaBatch:
    """The delta of a turn; reads `reflection`, `playbook` and `tool_results`."""
    reflection = mapping_of(inputs.get("reflection"))
    bullets = bullets_of(inputs.get("playbook"))
    removed = _removals(bullets)
    gone = {operation.bullet_id for operation in removed}
    kept = [bullet for bullet in bullets if bullet.id not in gone]
    learned = _learned(reflection, kept, failed=_any_failed(inputs.get("tool_results")))
    operations = [*learned, *removed]
    return DeltaBatch(reasoning=_reasoning(operations), operations=operations)


def _learned(
    reflection: Mapping[str, object], bullets: Sequence[BulletView], *, failed: bool
) -> list[DeltaOperation]:
    insight = text_of(reflection.get("key_insight"))
    error = bool(text_of(reflection.get("error_identification")).strip())
    section = TOOLS if failed else PITFALLS if error else STRATEGIES
    lessons = [line.strip() for line in insight.split(LESSONS_APART) if line.strip()]
    proposed = [_proposal(item, bullets, section, error=error) for item in lessons[:_MOST_LEARNED]]
    return [operation for operation in proposed if operation is not None]


def _proposal(
    insight: str, bullets: Sequence[BulletView], section: str, *, error: bool
) -> DeltaOperation | None:
    """What to do with one lesson; None when a bullet says it already."""
    option = option_of(insight)
    # Lessons for other options are other lessons, however like their words are.
    like = [bullet for bullet in bullets if option_of(bullet.content) == option]
    nearest = _nearest(insight, like)
    if nearest is not None and nearest.likeness >= _SAME:
        return None
    if nearest is not None and error and not option and nearest.likeness >= _NEAR:
        return _update(nearest.bullet, insight)
    return DeltaOperation(
        type=DeltaType.ADD, section=CHOICES if option else section, content=insight
    )


def _update(bullet: BulletView, insight: str) -> DeltaOperation:
    return DeltaOperation(
        type=DeltaType.UPDATE, section=bullet.section, content=insight, bullet_id=bullet.id
    )


def _removals(bullets: Sequence[BulletView]) -> list[DeltaOperation]:
    bad = [
        bullet
        for bullet in bullets
        if bullet.harmful >= _HARM and bullet.harmful > 2 * bullet.helpful
    ]
    worst = sorted(bad, key=lambda bullet: bullet.helpful - bullet.harmful)[:_MOST_REMOVED]
    return [
        DeltaOperation(type=DeltaType.REMOVE, section=bullet.section, bullet_id=bullet.id)
        for bullet in worst
    ]


def _nearest(insight: str, bullets: Sequence[BulletView]) -> _Nearest | None:
    """The bullet of the same polarity that says most nearly the same."""
    found = [
        _Nearest(bullet, _likeness(insight, bullet.content))
        for bullet in bullets
        if negated(bullet.content) == negated(insight)
    ]
    return max(found, key=lambda item: item.likeness, default=None)


def _likeness(one: str, other: str) -> float:
    """Shared terms as a part of all terms of both (Jaccard)."""
    a, b = terms_of(one), terms_of(other)
    return len(a & b) / len(a | b) if a | b else 0.0


def _any_failed(results: object) -> bool:
    return any(mapping_of(item).get("is_error") for item in items_of(results))


def _reasoning(operations: Sequence[DeltaOperation]) -> str:
    if not operations:
        return "nothing was learned that the playbook does not hold"
    return ", ".join(operation.type.value for operation in operations)
