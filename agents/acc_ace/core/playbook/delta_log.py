"""The delta log: what a change adds to it, and its replay into a playbook.

The log is event-sourced: replaying its applied records gives the playbook.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from acc_ace.core.schemas.bullet import Bullet, id_number
from acc_ace.core.schemas.delta import Author, DeltaKind, DeltaStatus
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from acc_ace.errors import ConflictError, NotFoundError, PlaybookError


def archives(record: DeltaRecord) -> bool:
    """Whether a record archived a bullet."""
    is_applied = record.status is DeltaStatus.APPLIED
    return is_applied and record.kind is DeltaKind.ARCHIVE and record.after is None


def not_pending(seq: int, *, was_held: bool) -> ConflictError | NotFoundError:
    """The error for a decision on an operation that is not pending review."""
    if was_held:
        return ConflictError(f"held operation {seq} was decided already")
    return NotFoundError(f"no held operation {seq} in this playbook")


def replay(records: Iterable[DeltaRecord], *, start: Playbook | None = None) -> Playbook:
    """Apply the applied records in order to `start` (the empty playbook)."""
    first = start or Playbook()
    bullets = dict(first.by_id)
    next_id = first.next_id
    for record in records:
        if record.status is DeltaStatus.APPLIED:
            next_id = _apply(record, bullets, next_id)
    return first.model_copy(update={"bullets": tuple(bullets.values()), "next_id": next_id})


class Entry(NamedTuple):
    """What a change adds to the log."""

    records: list[DeltaRecord]
    """The records, numbered, complete enough that their replay gives exactly the playbook."""
    standing: frozenset[int]
    """`seq` of those that a person can act on: decide, or restore the bullet they archived."""
    version: int
    """The version they lead to: the one before if none was applied."""
    counts: dict[str, int]
    """How many were applied, by kind."""
    at: datetime | None
    """When the last of these was made; None if none was applied."""


def entry_of(
    current: StoredPlaybook, target: Playbook, records: Sequence[DeltaRecord], *, last_seq: int
) -> Entry:
    """The log entry of a change from `current` to `target`; `last_seq` is the log's so far.

    Raises PlaybookError when the records lead to other bullets: the log would be wrong.
    """
    applied = [record for record in records if record.status is DeltaStatus.APPLIED]
    version = current.version + bool(applied)
    numbered = [
        record.model_copy(update={"seq": seq, "version": version})
        for seq, record in enumerate(_sealed(current.playbook, target, records), start=last_seq + 1)
    ]
    last = {
        record.bullet_id: record.seq for record in numbered if record.status is DeltaStatus.APPLIED
    }
    standing = frozenset(
        record.seq
        for record in numbered
        if record.status is DeltaStatus.HELD
        or (last.get(record.bullet_id) == record.seq and archives(record))
    )
    counts = dict(Counter(record.kind.value for record in applied))
    at = max((record.created_at for record in applied), default=None)
    return Entry(numbered, standing, version, counts, at)


def _sealed(
    current: Playbook, target: Playbook, records: Sequence[DeltaRecord]
) -> list[DeltaRecord]:
    """Add order and next_id to the records so that their replay gives exactly `target`.

    Raises PlaybookError when the replay gives other bullets: the log would be wrong.
    """
    reached = replay(records, start=current)
    # The usual case, and fast: most bullets are the very same values.
    if reached.bullets == target.bullets and reached.next_id == target.next_id:
        return list(records)
    if reached.by_id != target.by_id:
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


class Change(NamedTuple):
    """A playbook and the records that produce it."""

    playbook: Playbook
    records: list[DeltaRecord]


Fates = Mapping[str, DeltaRecord]
"""By bullet id, the record that removed, archived or merged the bullet."""


def rolled_back(current: Playbook, target: StoredPlaybook, *, by: Author, fates: Fates) -> Change:
    """Replace the content of `current` by that of an earlier version.

    `fates` are those of the bullets that the target no longer had.
    """
    template = record_of_all(DeltaKind.ROLLBACK, f"version {target.version}", by)
    return _replaced(current, target.playbook, template, fates)


def _replaced(current: Playbook, target: Playbook, template: DeltaRecord, fates: Fates) -> Change:
    """Replace the bullets of `current` by exactly those of `target`, in its order.

    `template` is the record of the whole change and the template for those of the bullets. For a
    bullet that leaves, `fates` says whether it was archived or merged into another.
    """
    result = target.model_copy(update={"next_id": max(current.next_id, target.next_id)})
    before, after = current.by_id, target.by_id
    records = [template]
    records += [
        _left(template, bullet, fates.get(bullet.id))
        for bullet in current.bullets
        if bullet.id not in after
    ]
    records += [
        _about(template, bullet.id, before=before.get(bullet.id), after=bullet)
        for bullet in target.bullets
        if before.get(bullet.id) != bullet
    ]
    return Change(result, records)


def record_of_all(kind: DeltaKind, reason: str, by: Author) -> DeltaRecord:
    """The record of a change of the whole playbook."""
    return DeltaRecord(
        kind=kind,
        bullet_id=None,
        status=DeltaStatus.APPLIED,
        reason=reason,
        user=by.user,
        created_at=by.at,
    )


def _left(template: DeltaRecord, bullet: Bullet, fate: DeltaRecord | None) -> DeltaRecord:
    record = _about(template, bullet.id, before=bullet)
    if fate is None:
        return record
    if archives(fate):
        return record.model_copy(update={"kind": DeltaKind.ARCHIVE, "reason": fate.reason})
    return record.model_copy(update={"merged_into": fate.merged_into})


def _about(template: DeltaRecord, bullet_id: str, **fields: object) -> DeltaRecord:
    return template.model_copy(update={"bullet_id": bullet_id, "reason": "ok", **fields})
