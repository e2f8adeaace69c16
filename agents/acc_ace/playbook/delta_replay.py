"""Rebuild playbooks from delta records, and tell the records between two playbooks.

A record carries the bullet before and after; the record that ends a version also carries
`next_id` and `order` where the operations alone would not give them (import, rollback). So the
log alone gives every version byte for byte.
"""

from collections.abc import Iterable, Sequence

from acc_ace.errors import PlaybookError
from acc_ace.schemas.bullet import id_number
from acc_ace.schemas.delta import DeltaStatus
from acc_ace.schemas.playbook import Bullet, DeltaRecord, Playbook


def replay(records: Iterable[DeltaRecord], *, start: Playbook | None = None) -> Playbook:
    """Apply the applied records in order to `start` (the empty playbook)."""
    first = start or Playbook()
    bullets = {bullet.id: bullet for bullet in first.bullets}
    next_id = first.next_id
    for record in records:
        if record.status is DeltaStatus.APPLIED:
            next_id = _apply(record, bullets, next_id)
    return first.model_copy(update={"bullets": tuple(bullets.values()), "next_id": next_id})


def sealed(
    current: Playbook, target: Playbook, records: Sequence[DeltaRecord]
) -> list[DeltaRecord]:
    """The records with what it takes to lead from `current` to `target` exactly.

    Raises PlaybookError when they lead to other bullets: the log would not be the truth.
    """
    reached = replay(records, start=current)
    # The usual case, and fast: most bullets are the very same values.
    if reached.bullets == target.bullets and reached.next_id == target.next_id:
        return list(records)
    if _by_id(reached) != _by_id(target):
        raise PlaybookError(
            "the delta records do not lead to the playbook; log every changed bullet"
        )
    order = [bullet.id for bullet in target.bullets]
    update: dict[str, object] = {}
    if [bullet.id for bullet in reached.bullets] != order:
        update["order"] = order
    if reached.next_id != target.next_id:
        update["next_id"] = target.next_id
    if not update:
        return list(records)
    last = max(
        (at for at, record in enumerate(records) if record.status is DeltaStatus.APPLIED),
        default=None,
    )
    if last is None:
        raise PlaybookError("the playbook changed, but no record was applied")
    changed = list(records)
    changed[last] = changed[last].model_copy(update=update)
    return changed


def _apply(record: DeltaRecord, bullets: dict[str, Bullet], next_id: int) -> int:
    """Change `bullets` by one record; the next id after it."""
    after = record.after
    if after is not None:
        next_id = max(next_id, id_number(after.id) + 1)
        bullets[after.id] = after
    elif record.bullet_id is not None:
        bullets.pop(record.bullet_id, None)
    if record.order is not None:
        ordered = [bullets[bullet_id] for bullet_id in record.order if bullet_id in bullets]
        bullets.clear()
        bullets.update((bullet.id, bullet) for bullet in ordered)
    return next_id if record.next_id is None else record.next_id


def _by_id(playbook: Playbook) -> dict[str, Bullet]:
    return {bullet.id: bullet for bullet in playbook.bullets}
