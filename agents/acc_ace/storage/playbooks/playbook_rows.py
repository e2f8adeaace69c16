"""The rows of a playbook, in SQL shared by SQLite and PostgreSQL."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from acc_ace.core.playbook.playbook_versions import Pieces
from acc_ace.core.schemas.base import PlaybookScope, Tenant
from acc_ace.core.schemas.playbook import Bullet, Playbook
from acc_ace.errors import CorruptStoreError, PlaybookError
from acc_ace.storage.sql_rows import Rows, decode, encode
from acc_ace.storage.tenant_rows import tenant_number

NEWEST = 2**62
"""Above every seq and version."""

_HEAD = "id, version, next_id, digest, last_seq, last_position FROM playbooks"
_INSERT_BULLET = (
    "INSERT INTO playbook_bullets (playbook, bullet_id, position, body) VALUES (?, ?, ?, ?)"
)


class Head(NamedTuple):
    """The row of a playbook; `id` is 0 before the first commit."""

    id: int = 0
    version: int = 0
    next_id: int = 1
    digest: str = ""
    last_seq: int = 0
    last_position: int = 0


class Snapshot(NamedTuple):
    """A whole playbook at a version."""

    version: int
    playbook: Playbook


def _columns(scope: PlaybookScope) -> tuple[str, bool, str]:
    """The scope as columns app, shared and user_id."""
    return scope.app, scope.user is None, scope.user or ""


def find_head(rows: Rows, scope: PlaybookScope, *, lock: bool = False) -> Head:
    """The row of the playbook, or the empty head before the first commit."""
    records = rows.all(
        f"SELECT {_HEAD} WHERE app = ? AND shared = ? AND user_id = ? AND branch = ''"
        + (rows.lock if lock else ""),
        _columns(scope),
    )
    return Head(*records[0]) if records else Head()


def head_of(rows: Rows, playbook_id: int, *, lock: bool = False) -> Head:
    """The row with this id, or the empty head if there is none."""
    statement = f"SELECT {_HEAD} WHERE id = ?"
    records = rows.all(statement + (rows.lock if lock else ""), (playbook_id,))
    return Head(*records[0]) if records else Head()


def create_head(rows: Rows, scope: PlaybookScope) -> Head:
    """Insert an empty playbook."""
    rows.run(
        "INSERT INTO playbooks (tenant, app, shared, user_id, branch, version, next_id, digest, "
        "last_seq, last_position) VALUES (?, ?, ?, ?, '', 0, 1, '', 0, 0)",
        (
            None if scope.user is None else tenant_number(rows, Tenant(scope.app, scope.user)),
            *_columns(scope),
        ),
    )
    return find_head(rows, scope)


def write_head(rows: Rows, head: Head) -> None:
    """Update a head after a commit."""
    rows.run(
        "UPDATE playbooks SET version = ?, next_id = ?, digest = ?, last_seq = ?, "
        "last_position = ? WHERE id = ?",
        (head.version, head.next_id, head.digest, head.last_seq, head.last_position, head.id),
    )


def write_bullets(rows: Rows, head: Head, before: Pieces, after: Pieces) -> int:
    """Update the rows from one version to the next; return the last position in use.

    A bullet keeps its row and position as long as the bullets before it in `after` are those that
    were before it; every other one comes last, in order.
    """
    unmoved = _unmoved(before, after)
    rows.many(
        "DELETE FROM playbook_bullets WHERE playbook = ? AND bullet_id = ?",
        [(head.id, name) for name in before if name not in unmoved],
    )
    rows.many(
        "UPDATE playbook_bullets SET body = ? WHERE playbook = ? AND bullet_id = ?",
        [
            (encode(after[name].bullet), head.id, name)
            for name in unmoved
            if after[name] is not before[name] and after[name].bullet != before[name].bullet
        ],
    )
    added = [piece.bullet for name, piece in after.items() if name not in unmoved]
    return _insert_bullets(rows, head.id, added, head.last_position)


def _unmoved(before: Iterable[str], after: Mapping[str, object]) -> dict[str, None]:
    """The names, in order, that follow each other in both and begin `after`."""
    names: dict[str, None] = {}
    order = iter(after)
    expected = next(order, None)
    for name in before:
        if name == expected:
            names[name] = None
            expected = next(order, None)
    return names


def is_live(rows: Rows, playbook_id: int, bullet_id: str) -> bool:
    """Whether a bullet is in the current playbook."""
    return bool(
        rows.all(
            "SELECT 1 FROM playbook_bullets WHERE playbook = ? AND bullet_id = ?",
            (playbook_id, bullet_id),
        )
    )


def read_bullets(rows: Rows, playbook_id: int) -> tuple[Bullet, ...]:
    """The current bullets, in order; raises CorruptStoreError."""
    records = rows.all(
        "SELECT bullet_id, body FROM playbook_bullets WHERE playbook = ? ORDER BY position",
        (playbook_id,),
    )
    return tuple(
        [decode(Bullet, body, what=f"playbook bullet {bullet_id!r}") for bullet_id, body in records]
    )


def write_snapshot(rows: Rows, playbook_id: int, version: int, playbook: Playbook) -> None:
    """Store a whole version, from which later ones are replayed."""
    rows.run(
        "INSERT INTO playbook_snapshots (playbook, version, body) VALUES (?, ?, ?)",
        (playbook_id, version, encode(playbook)),
    )


def read_snapshot(rows: Rows, playbook_id: int, *, upto: int) -> Snapshot:
    """The newest snapshot not later than `upto`; the empty playbook if there is none."""
    records = rows.all(
        "SELECT version, body FROM playbook_snapshots WHERE playbook = ? AND version <= ? "
        "ORDER BY version DESC LIMIT 1",
        (playbook_id, upto),
    )
    if not records:
        return Snapshot(0, Playbook())
    version, body = records[0]
    try:
        return Snapshot(version, Playbook.loads(body))
    except PlaybookError as error:
        raise CorruptStoreError(f"playbook snapshot of version {version}: {error}") from error


def commit_key(commit_id: str) -> str:
    """A commit id hashed for storage: it may name a user, and outlives their data."""
    return hashlib.sha256(commit_id.encode("utf-8", "surrogatepass")).hexdigest()


def write_commit(rows: Rows, playbook_id: int, key: str, version: int) -> None:
    """Record a commit under its idempotency key."""
    rows.run(
        "INSERT INTO playbook_commits (playbook, commit_id, version) VALUES (?, ?, ?)",
        (playbook_id, key, version),
    )


def committed_version(rows: Rows, playbook_id: int, key: str) -> int | None:
    """The version made by a commit, or None if it did not take place."""
    records = rows.all(
        "SELECT version FROM playbook_commits WHERE playbook = ? AND commit_id = ?",
        (playbook_id, key),
    )
    return records[0][0] if records else None


def _insert_bullets(
    rows: Rows, playbook_id: int, bullets: Sequence[Bullet], last_position: int
) -> int:
    rows.many(
        _INSERT_BULLET,
        [
            (playbook_id, bullet.id, position, encode(bullet))
            for position, bullet in enumerate(bullets, start=last_position + 1)
        ],
    )
    return last_position + len(bullets)
