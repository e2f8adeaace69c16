"""Changes of a whole playbook: roll back, fork and promote; and the diff of two versions.

Every function is pure; the store commits the records.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from pydantic import Field

from acc_ace.core.playbook.delta_log import archives
from acc_ace.core.playbook.playbook_versions import check_playbook_version, named
from acc_ace.core.schemas.base import PlaybookScope, Value
from acc_ace.core.schemas.bullet import Bullet, id_number
from acc_ace.core.schemas.delta import DeltaKind, DeltaStatus
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from acc_ace.errors import ConflictError, InputError

MOST_BRANCHES = 32
"""Maximum branches of one playbook, not counting main."""

MAIN = "main"
"""Display name of the main branch, which is stored as ''."""

_BRANCH_CHARACTERS = 64


class Author(NamedTuple):
    """The author and time of a manual change."""

    user: str
    at: datetime


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
    record = _said(DeltaKind.ROLLBACK, f"version {target.version}", by)
    return _replaced(current, target.playbook, record, fates)


def forked(source: StoredPlaybook, scope: PlaybookScope, *, by: Author) -> Change:
    """The first version of a branch: a copy of `source`, a version of `scope`."""
    record = _said(DeltaKind.FORK, f"branch {scope.branch or MAIN}, version {source.version}", by)
    return _replaced(Playbook(), source.playbook, record, {})


def promoted(
    main: Playbook,
    branch: StoredPlaybook,
    scope: PlaybookScope,
    *,
    forked_next_id: int,
    by: Author,
    fates: Fates,
) -> Change:
    """Replace the bullets of `main` by those of a branch, whose scope is `scope`.

    A bullet added on the branch gets a new id if main has used its id in the meantime.
    `forked_next_id` is the id counter at the fork.
    """
    next_id = max(main.next_id, branch.playbook.next_id)
    bullets: list[Bullet] = []
    for bullet in branch.playbook.bullets:
        if forked_next_id <= id_number(bullet.id) < main.next_id:
            bullets.append(bullet.model_copy(update={"id": f"b-{next_id:05d}"}))
            next_id += 1
        else:
            bullets.append(bullet)
    target = branch.playbook.model_copy(update={"bullets": tuple(bullets), "next_id": next_id})
    record = _said(DeltaKind.PROMOTE, f"branch {scope.branch}, version {branch.version}", by)
    return _replaced(main, target, record, fates)


def check_branch_name(name: str) -> None:
    """Raise InputError for an invalid branch name."""
    valid = name.replace("-", "").replace("_", "").replace(".", "").isalnum()
    if not valid or len(name) > _BRANCH_CHARACTERS or name.casefold() == MAIN:
        raise InputError(
            f"{name[:80]!r} cannot name a branch; use at most {_BRANCH_CHARACTERS} letters, "
            f"digits, '-', '_' and '.', and not {MAIN!r}"
        )


def check_room(scope: PlaybookScope, branches: int, *, exists: bool) -> None:
    """Raise ConflictError for a branch that exists, InputError for one too many."""
    if exists:
        raise ConflictError(
            f"branch {scope.branch!r} already exists; choose another name, or delete it first"
        )
    if branches >= MOST_BRANCHES:
        raise InputError(
            f"playbook of {named(scope._replace(branch=''))} has {branches} branches, which is "
            "the maximum; delete one first"
        )


def check_promotion(
    main: PlaybookScope, version: int, forked_from: int | None, expected: int | None
) -> None:
    """Raise ConflictError unless main is at the version that the promotion replaces.

    That is `expected`, by default the fork point; InputError when there is neither.
    """
    follows = forked_from if expected is None else expected
    if follows is None:
        raise InputError(
            "this branch was not forked from the main branch; name the version of main that it "
            f"replaces ({_FOLLOW})"
        )
    advice = f"review it, then name the version that the branch replaces ({_FOLLOW})"
    check_playbook_version(main, version, follows, advice=advice)


_FOLLOW = "--onto VERSION, over HTTP If-Match"


def _replaced(current: Playbook, target: Playbook, record: DeltaRecord, fates: Fates) -> Change:
    """Replace the bullets of `current` by exactly those of `target`, in its order.

    `said` is the record of the whole change and the template for those of the bullets. For a
    bullet that leaves, `fates` says whether it was archived or merged into another.
    """
    result = target.model_copy(update={"next_id": max(current.next_id, target.next_id)})
    before = {bullet.id: bullet for bullet in current.bullets}
    after = {bullet.id for bullet in target.bullets}
    records = [record]
    records += [
        _left(record, bullet, fates.get(bullet.id))
        for bullet in current.bullets
        if bullet.id not in after
    ]
    records += [
        _about(record, bullet.id, before=before.get(bullet.id), after=bullet)
        for bullet in target.bullets
        if before.get(bullet.id) != bullet
    ]
    return Change(result, records)


def _said(kind: DeltaKind, reason: str, by: Author) -> DeltaRecord:
    return DeltaRecord(
        kind=kind,
        bullet_id=None,
        status=DeltaStatus.APPLIED,
        reason=reason,
        user=by.user,
        created_at=by.at,
    )


def _left(record: DeltaRecord, bullet: Bullet, fate: DeltaRecord | None) -> DeltaRecord:
    if fate is not None and archives(fate):
        return _about(record, bullet.id, before=bullet, kind=DeltaKind.ARCHIVE, reason=fate.reason)
    return _about(record, bullet.id, before=bullet, merged_into=fate.merged_into if fate else None)


def _about(record: DeltaRecord, bullet_id: str, **fields: object) -> DeltaRecord:
    return record.model_copy(update={"bullet_id": bullet_id, "reason": "ok", **fields})


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
    old = {bullet.id: bullet for bullet in before.bullets}
    new = {bullet.id: bullet for bullet in after.bullets}
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
