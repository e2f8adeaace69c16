"""The Curator role: a few small changes at most, and none if nothing was learned."""

from collections.abc import Mapping, Sequence

from acc_ace.core.schemas.delta import DeltaBatch, DeltaOperation, DeltaType
from acc_ace.core.text.duplicates import lesson_of, near, same
from acc_ace.ext.embedded.views import (
    BulletView,
    bullets_of,
    items_of,
    mapping_of,
    text_of,
)

PITFALLS = "pitfalls"
STRATEGIES = "strategies"
TOOLS = "tools"

_HARM = 3
"""Harmful tags at which a bullet is removed, if more than twice the helpful ones."""

_MAX_REMOVED = 2


def curate(inputs: Mapping[str, object]) -> DeltaBatch:
    """The delta batch of a turn; reads `reflection`, `playbook` and `tool_results`."""
    reflection = mapping_of(inputs.get("reflection"))
    bullets = bullets_of(inputs.get("playbook"))
    removed = _removals(bullets)
    removed_ids = {operation.bullet_id for operation in removed}
    rest = [bullet for bullet in bullets if bullet.id not in removed_ids]
    learned = _learned(reflection, rest, failed=_any_failed(inputs.get("tool_results")))
    operations = [*([learned] if learned else []), *removed]
    return DeltaBatch(reasoning=_reasoning(operations), operations=operations)


def _learned(
    reflection: Mapping[str, object], bullets: Sequence[BulletView], *, failed: bool
) -> DeltaOperation | None:
    """The operation for the lesson; None without one, or if a bullet has it already."""
    insight = " ".join(text_of(reflection.get("key_insight")).split())
    if not insight:
        return None
    error = bool(text_of(reflection.get("error_identification")).strip())
    learned = lesson_of(insight)
    known = [(bullet, lesson_of(bullet.content)) for bullet in bullets]
    if any(same(lesson, learned) for _, lesson in known):
        return None
    refined = next((bullet for bullet, lesson in known if near(lesson, learned)), None)
    if refined is not None and error:
        return _update(refined, insight)
    section = TOOLS if failed else PITFALLS if error else STRATEGIES
    return DeltaOperation(type=DeltaType.ADD, section=section, content=insight)


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
    worst = sorted(bad, key=lambda bullet: bullet.helpful - bullet.harmful)[:_MAX_REMOVED]
    return [
        DeltaOperation(type=DeltaType.REMOVE, section=bullet.section, bullet_id=bullet.id)
        for bullet in worst
    ]


def _any_failed(results: object) -> bool:
    return any(mapping_of(item).get("is_error") for item in items_of(results))


def _reasoning(operations: Sequence[DeltaOperation]) -> str:
    if not operations:
        return "nothing was learned that the playbook does not have"
    return ", ".join(operation.type.value for operation in operations)
