"""What the delta log tells of one bullet: where it comes from, what became of it."""

from dataclasses import dataclass
from difflib import get_close_matches

from acc_ace.errors import NotFoundError
from acc_ace.schemas.bullet import Bullet
from acc_ace.schemas.delta import DeltaKind, DeltaStatus
from acc_ace.schemas.playbook import DeltaRecord, Playbook

_NEAR_IDS = 3


@dataclass(frozen=True)
class Story:
    """All that the log knows of a bullet, newest first."""

    bullet_id: str
    live: Bullet | None
    """The bullet itself, or what it was merged into."""
    records: list[DeltaRecord]
    complete: bool
    """False when the story is longer than what is read of it."""


def unknown_bullet(playbook: Playbook, bullet_id: str) -> NotFoundError:
    """The error for an id that no bullet ever had, with those near it."""
    near = get_close_matches(
        bullet_id, [bullet.id for bullet in playbook.bullets], n=_NEAR_IDS, cutoff=0.6
    )
    hint = f"; near it: {', '.join(near)}" if near else ""
    return NotFoundError(f"no bullet {bullet_id[:64]!r} in this playbook{hint}")


def departure(story: Story) -> Bullet:
    """The bullet as it was when it left. Raises NotFoundError when the log does not have it."""
    for record in story.records:
        gone = record.status is DeltaStatus.APPLIED and record.after is None
        if record.bullet_id == story.bullet_id and gone and record.before is not None:
            return record.before
    raise NotFoundError(f"the log does not hold bullet {story.bullet_id} as it was")


def what_became(story: Story) -> str:
    """What became of a bullet that is not live, and how to have it back."""
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
