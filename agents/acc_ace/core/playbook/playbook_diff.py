"""The diff of two versions of a playbook."""

from collections.abc import Iterable

from pydantic import Field

from acc_ace.core.schemas.base import Value
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.playbook import Playbook

_COUNTERS = ("helpful", "harmful", "neutral")


class ChangedBullet(Value):
    """A bullet before and after; None where it did not exist."""

    before: Bullet | None
    after: Bullet | None

    @property
    def bullet(self) -> Bullet:
        """The current bullet, or the removed one."""
        value = self.after or self.before
        if value is None:
            raise ValueError("a change without a bullet")
        return value


class PlaybookDiff(Value):
    """The bullets that differ, in playbook order, removed ones at their old position."""

    changes: list[ChangedBullet] = Field(default_factory=list)

    def lines(self) -> list[str]:
        """The diff as text, by section; each line starts with '+', '-' or '~'."""
        lines: list[str] = []
        sections: dict[str, list[ChangedBullet]] = {}
        for change in self.changes:
            sections.setdefault(change.bullet.section, []).append(change)
        for section, changes in sections.items():
            lines.append(f"## {section}")
            lines += [line for change in changes for line in _lines(change)]
        return lines


def diff_playbooks(before: Playbook, after: Playbook) -> PlaybookDiff:
    """The changes from one playbook to the other; empty when their bullets are equal."""
    old, new = before.by_id, after.by_id
    ids: Iterable[str] = dict.fromkeys([*old, *new])
    return PlaybookDiff(
        changes=[
            ChangedBullet(before=old.get(bullet_id), after=new.get(bullet_id))
            for bullet_id in ids
            if old.get(bullet_id) != new.get(bullet_id)
        ]
    )


def _lines(change: ChangedBullet) -> list[str]:
    before, after = change.before, change.after
    if before is None or after is None:
        mark = "+" if before is None else "-"
        return [f"{mark} [{change.bullet.id}] {change.bullet.content}"]
    notes = _notes(before, after)
    tail = f"  {', '.join(notes)}" if notes else ""
    if before.content != after.content:
        return [f"- [{before.id}] {before.content}", f"+ [{after.id}] {after.content}{tail}"]
    return [f"~ [{after.id}] {after.content}{tail}"]


def _notes(before: Bullet, after: Bullet) -> list[str]:
    notes = [
        f"{name} {getattr(before, name)} → {getattr(after, name)}"
        for name in _COUNTERS
        if getattr(before, name) != getattr(after, name)
    ]
    if before.section != after.section:
        notes.append(f"section {before.section} → {after.section}")
    if before.pinned != after.pinned:
        notes.append("pinned" if after.pinned else "unpinned")
    return notes
