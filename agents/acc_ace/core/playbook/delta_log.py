"""Queries on the delta log: counts, one bullet's history, and replay into a playbook.

The log is event-sourced: replaying its applied records gives the playbook.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from acc_ace.core.schemas.bullet import Bullet, id_number
from acc_ace.core.schemas.delta import DeltaKind, DeltaStatus, PlaybookVersion
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from acc_ace.errors import ConflictError, NotFoundError, PlaybookError


def archives(record: DeltaRecord) -> bool:
    """Whether a record archived a bullet."""
    return _applied(record) and record.kind is DeltaKind.ARCHIVE and record.after is None


def not_pending(seq: int, *, was_held: bool) -> ConflictError | NotFoundError:
    """The error for a decision on an operation that is not pending review."""
    if was_held:
        return ConflictError(f"held operation {seq} was decided already")
    return NotFoundError(f"no held operation {seq} in this playbook")


def counts_of(records: Sequence[DeltaRecord]) -> dict[str, int]:
    """How many of the records were applied, by kind."""
    return dict(Counter(record.kind.value for record in records if _applied(record)))


def version_of(stored: StoredPlaybook, records: Sequence[DeltaRecord]) -> PlaybookVersion:
    """Summary of the version that the records produced."""
    return PlaybookVersion(
        version=stored.version,
        digest=stored.digest,
        at=max(record.created_at for record in records if _applied(record)),
        bullets=len(stored.playbook.bullets),
        counts=counts_of(records),
    )


def _applied(record: DeltaRecord) -> bool:
    return record.status is DeltaStatus.APPLIED


_NEAR_IDS = 3


@dataclass(frozen=True)
class BulletHistory:
    """The log records of a bullet, newest first."""

    bullet_id: str
    live: Bullet | None
    """The bullet itself, or the one it was merged into."""
    records: list[DeltaRecord]
    complete: bool
    """False when the history was cut off at the read limit."""


def unknown_bullet(playbook: Playbook, bullet_id: str) -> NotFoundError:
    """The error for an id that no bullet ever had, with similar ids."""
    near = get_close_matches(
        bullet_id, [bullet.id for bullet in playbook.bullets], n=_NEAR_IDS, cutoff=0.6
    )
    hint = f"; near it: {', '.join(near)}" if near else ""
    return NotFoundError(f"no bullet {bullet_id[:64]!r} in this playbook{hint}")


def removed(story: BulletHistory) -> Bullet:
    """The bullet as it was before it was removed. Raises NotFoundError if it is not logged."""
    for record in story.records:
        leaves = record.status is DeltaStatus.APPLIED and record.after is None
        if record.bullet_id == story.bullet_id and leaves and record.before is not None:
            return record.before
    raise NotFoundError(f"the log does not hold bullet {story.bullet_id} as it was")


def why_not_live(story: BulletHistory) -> str:
    """Say why a bullet is not live and how to restore it."""
    if story.live is not None:
        return (
            f"bullet {story.bullet_id} was merged into {story.live.id}; edit that one, or "
            f"'restore {story.bullet_id}' first"
        )
    archived = any(
        record.kind is DeltaKind.ARCHIVE and record.bullet_id == story.bullet_id
        for record in story.records[:1]
    )
    how = "archived" if archived else "removed"
    return f"bullet {story.bullet_id} was {how}; 'restore {story.bullet_id}' brings it back"


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
    """Add order and next_id to the records so that their replay gives exactly `target`.

    Raises PlaybookError when the replay gives other bullets: the log would be wrong.
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
