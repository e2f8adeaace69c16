"""Import the bullets of a file; each passes the Curator's checks.

An empty, never used playbook takes them verbatim (ids, order, counters, dates and pins), so that
an export can be restored. Any other takes them one by one: a known lesson adds its counters to
the bullet that says it, a new one gets a new id, and a contradiction is held for review.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from acc_ace.core.playbook.curation.curation_record import OK, OVER_BUDGET, pending
from acc_ace.core.playbook.curation.delta_guard import Curated, CurationContext, curate
from acc_ace.core.playbook.playbook_size import PlaybookSize
from acc_ace.core.schemas.bullet import MOST_COUNTED, Bullet
from acc_ace.core.schemas.delta import (
    DeltaBatch,
    DeltaKind,
    DeltaOperation,
    DeltaResult,
    DeltaStatus,
    DeltaType,
)
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook

_BATCH = 1_024
"""Maximum operations of one batch."""


def imported(current: Playbook, incoming: Playbook, context: CurationContext) -> Curated:
    """Add the bullets of `incoming` to `current`; one result per bullet, in order.

    Never raises. Counters are added, pins are kept.
    """
    if not current.bullets and current.next_id == 1:
        return _verbatim(incoming, context)
    playbook, results, records = current, list[DeltaResult](), list[DeltaRecord]()
    for bullets in _batches(incoming.bullets):
        curated = curate(playbook, _additions(bullets), _one_batch(context))
        with_counts = _counted(curated.playbook, bullets, curated.results, context)
        playbook = with_counts.playbook
        results += curated.results
        records += [*curated.records, *with_counts.records]
    return Curated(playbook, results, records)


def _verbatim(incoming: Playbook, context: CurationContext) -> Curated:
    """Import accepted bullets with ids, order and counters; log the others as refused.

    Duplicates within the file are kept: merging them is the job of `refine`.
    """
    size = PlaybookSize()
    bullets: list[Bullet] = []
    results: list[DeltaResult] = []
    records: list[DeltaRecord] = []
    for bullet in incoming.bullets:
        alone = _screened_alone(bullet, context)
        passed = alone.results[0].status is DeltaStatus.APPLIED
        if passed and not size.has_room(bullet.section, bullet.content, context.limits):
            alone = _held(bullet, alone.playbook.bullets[0], context)
        elif passed:
            accepted = _with_screened_text(bullet, alone.playbook.bullets[0])
            size.add(accepted)
            bullets.append(accepted)
            alone = replace(alone, records=[_record(accepted, context)])
        results.append(alone.results[0].model_copy(update={"bullet_id": bullet.id}))
        records += alone.records
    playbook = Playbook(bullets=tuple(bullets), next_id=incoming.next_id)
    return Curated(playbook if bullets else Playbook(), results, records)


def _held(bullet: Bullet, screened: Bullet, context: CurationContext) -> Curated:
    """A bullet that exceeds a budget, held for review."""
    verdict = pending(OVER_BUDGET)
    operation = DeltaOperation(
        type=DeltaType.ADD, section=screened.section, content=screened.content
    )
    record = DeltaRecord(
        kind=DeltaKind.ADD,
        bullet_id=None,
        proposed=screened.content,
        operation=operation,
        **context.stamp(verdict),
    )
    result = DeltaResult(
        type=DeltaType.ADD, bullet_id=bullet.id, status=verdict.status, reason=verdict.reason
    )
    return Curated(Playbook(), [result], [record])


def _record(after: Bullet, context: CurationContext, before: Bullet | None = None) -> DeltaRecord:
    return DeltaRecord(
        kind=DeltaKind.IMPORT, bullet_id=after.id, before=before, after=after, **context.stamp(OK)
    )


def _screened_alone(bullet: Bullet, context: CurationContext) -> Curated:
    """Curate one bullet against an empty playbook."""
    return curate(Playbook(), _additions([bullet]), replace(context, refine=None))


def _with_screened_text(bullet: Bullet, screened: Bullet) -> Bullet:
    """The bullet with its screened content and section."""
    return bullet.model_copy(update={"content": screened.content, "section": screened.section})


def _counted(
    playbook: Playbook,
    bullets: Sequence[Bullet],
    results: Sequence[DeltaResult],
    context: CurationContext,
) -> Curated:
    """Add the counters and pins of the imported bullets."""
    by_id = {bullet.id: bullet for bullet in playbook.bullets}
    records: list[DeltaRecord] = []
    for bullet, result in zip(bullets, results, strict=True):
        before = by_id.get(result.bullet_id or "")
        if result.status is not DeltaStatus.APPLIED or before is None:
            continue
        after = _with_counts(before, bullet)
        if after != before:
            by_id[before.id] = after
            records.append(_record(after, context, before))
    changed = playbook.model_copy(update={"bullets": tuple(by_id.values())})
    return Curated(changed, [], records)


def _with_counts(bullet: Bullet, source: Bullet) -> Bullet:
    return bullet.model_copy(
        update={
            "helpful": min(MOST_COUNTED, bullet.helpful + source.helpful),
            "harmful": min(MOST_COUNTED, bullet.harmful + source.harmful),
            "neutral": min(MOST_COUNTED, bullet.neutral + source.neutral),
            "pinned": bullet.pinned or source.pinned,
        }
    )


def _additions(bullets: Iterable[Bullet]) -> DeltaBatch:
    return DeltaBatch(
        reasoning="import",
        operations=[
            DeltaOperation(type=DeltaType.ADD, section=bullet.section, content=bullet.content)
            for bullet in bullets
        ],
    )


def _one_batch(context: CurationContext) -> CurationContext:
    # A large import must not evict existing bullets or its own first ones.
    limits = context.limits.model_copy(update={"delta_operations": _BATCH})
    return replace(context, limits=limits, refine=None)


def _batches(bullets: Sequence[Bullet]) -> list[Sequence[Bullet]]:
    return [bullets[at : at + _BATCH] for at in range(0, len(bullets), _BATCH)]
