"""The rows of branches, and of what became of a bullet across them."""

from collections.abc import Sequence

from acc_ace.schemas.base import PlaybookScope
from acc_ace.schemas.playbook import DeltaRecord
from acc_ace.schemas.playbook_version import Branch
from acc_ace.storage.playbooks.playbook_log_rows import records_of
from acc_ace.storage.playbooks.playbook_rows import Head, columns, head_of
from acc_ace.storage.sql_rows import Rows

_MOST_PARENTS = 32
"""Branches of branches that an id is followed through."""


def read_branches(rows: Rows, scope: PlaybookScope) -> list[Branch]:
    """The branches besides the main one, by name."""
    found = rows.all(
        "SELECT b.branch, b.version, b.digest, p.branch, b.parent_version, "
        "(SELECT count(*) FROM playbook_bullets WHERE playbook = b.id) "
        "FROM playbooks b LEFT JOIN playbooks p ON p.id = b.parent "
        "WHERE b.app = ? AND b.shared = ? AND b.user_id = ? AND b.branch <> '' ORDER BY b.branch",
        columns(scope)[:3],
    )
    return [
        Branch(
            scope=scope._replace(branch=name),
            version=version,
            digest=digest,
            bullets=bullets,
            parent=parent,
            parent_version=parent_version or 0,
        )
        for name, version, digest, parent, parent_version, bullets in found
    ]


def count_branches(rows: Rows, scope: PlaybookScope) -> int:
    """How many branches there are besides the main one."""
    found = rows.all(
        "SELECT count(*) FROM playbooks WHERE app = ? AND shared = ? AND user_id = ? "
        "AND branch <> ''",
        columns(scope)[:3],
    )
    return int(found[0][0])


def delete_branch(rows: Rows, scope: PlaybookScope) -> bool:
    """Delete a playbook with all of its rows; whether it was there."""
    return bool(
        rows.run(
            "DELETE FROM playbooks WHERE app = ? AND shared = ? AND user_id = ? AND branch = ?",
            columns(scope),
        )
    )


def read_fates(
    rows: Rows, playbook_id: int, bullet_ids: Sequence[str], *, upto: int
) -> dict[str, DeltaRecord]:
    """How bullets had left by a version: the newest applied record of each until then."""
    fates: dict[str, DeltaRecord] = {}
    for bullet_id in bullet_ids:
        found = rows.all(
            "SELECT seq, body FROM playbook_deltas WHERE playbook = ? AND bullet_id = ? "
            "AND status = 'applied' AND version <= ? ORDER BY seq DESC LIMIT 1",
            (playbook_id, bullet_id, upto),
        )
        fates.update((bullet_id, record) for record in records_of(found))
    return fates


def read_redirect(rows: Rows, head: Head, bullet_id: str) -> str | None:
    """What a bullet that is gone was merged into, if the newest word on it is a merge.

    A branch knows what happened on it; before that, what it was forked from knows.
    """
    upto = head.version
    for _ in range(_MOST_PARENTS):
        found = rows.all(
            "SELECT merged_into FROM playbook_deltas WHERE playbook = ? AND bullet_id = ? "
            "AND status = 'applied' AND version <= ? ORDER BY seq DESC LIMIT 1",
            (head.id, bullet_id, upto),
        )
        if found:
            merged_into: str | None = found[0][0]
            return merged_into
        if head.parent is None:
            return None
        upto = head.parent_version or 0
        head = head_of(rows, head.parent)
    return None
