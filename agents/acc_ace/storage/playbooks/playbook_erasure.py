"""Erase a user from an app's playbooks: delete their own, and their provenance in shared ones.

The content and digests of shared playbooks stay. When a live bullet loses its origin, a new
version is stored, which invalidates cached copies.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from acc_ace.core.playbook.delta_log import Entry
from acc_ace.core.playbook.playbook_versions import without_origin, without_user
from acc_ace.core.schemas.base import Tenant
from acc_ace.core.schemas.delta import DeltaKind, DeltaStatus
from acc_ace.core.schemas.playbook import Bullet, DeltaRecord
from acc_ace.storage.playbooks.playbook_log_rows import append_log, records_of, write_version
from acc_ace.storage.playbooks.playbook_rows import Head, head_of, read_snapshot, write_head
from acc_ace.storage.sql_rows import Rows, decode, encode

_PAGE = 500


def erase_user(rows: Rows, tenant: Tenant, *, at: datetime) -> int:
    """Erase a user; return the number of touched rows of logs, bullets and snapshots."""
    touched = _erase_own(rows, tenant)
    shared = rows.all(
        "SELECT id FROM playbooks WHERE app = ? AND shared ORDER BY id", (tenant.app,)
    )
    for (playbook_id,) in shared:
        head = head_of(rows, playbook_id, lock=True)
        touched += _erase_log(rows, playbook_id, tenant.user)
        touched += _erase_snapshots(rows, playbook_id, tenant.user)
        bullets = _erase_bullets(rows, playbook_id, tenant.user)
        if bullets:
            _append_erase(rows, head, at)
        touched += bullets
    return touched


def _erase_own(rows: Rows, tenant: Tenant) -> int:
    own = (tenant.app, tenant.user)
    records = rows.all(
        "SELECT count(*) FROM playbook_deltas WHERE playbook IN "
        "(SELECT id FROM playbooks WHERE app = ? AND NOT shared AND user_id = ?)",
        own,
    )
    rows.run("DELETE FROM playbooks WHERE app = ? AND NOT shared AND user_id = ?", own)
    return int(records[0][0])


def _erase_log(rows: Rows, playbook_id: int, user: str) -> int:
    changed: list[tuple[object, ...]] = []
    for seq, standing, body in _rows_naming(rows, playbook_id, "playbook_deltas", "seq", user):
        [record] = records_of([(seq, body)])
        forgotten = without_user(record, user)
        # An operation without its text can be neither applied nor judged.
        decided = forgotten.status is DeltaStatus.HELD and record.user == user
        if forgotten != record:
            pending = bool(standing) and not decided
            changed.append((forgotten.user, pending, encode(forgotten), playbook_id, seq))
    rows.many(
        "UPDATE playbook_deltas SET user_id = ?, standing = ?, body = ? "
        "WHERE playbook = ? AND seq = ?",
        changed,
    )
    return len(changed)


def _erase_bullets(rows: Rows, playbook_id: int, user: str) -> int:
    changed: list[tuple[object, ...]] = []
    for position, bullet_id, body in _rows_naming(
        rows, playbook_id, "playbook_bullets", "position", user
    ):
        bullet = decode(Bullet, body, what=f"playbook bullet {bullet_id!r}")
        forgotten = without_origin(bullet, user)
        if forgotten != bullet:
            changed.append((encode(forgotten), playbook_id, position))
    rows.many("UPDATE playbook_bullets SET body = ? WHERE playbook = ? AND position = ?", changed)
    return len(changed)


def _erase_snapshots(rows: Rows, playbook_id: int, user: str) -> int:
    touched = 0
    for version, _, _ in _rows_naming(rows, playbook_id, "playbook_snapshots", "version", user):
        playbook = read_snapshot(rows, playbook_id, upto=version).playbook
        bullets = tuple(without_origin(bullet, user) for bullet in playbook.bullets)
        forgotten = playbook.model_copy(update={"bullets": bullets})
        touched += rows.run(
            "UPDATE playbook_snapshots SET body = ? WHERE playbook = ? AND version = ?",
            (encode(forgotten), playbook_id, version),
        )
    return touched


_SECOND = {"playbook_deltas": "standing", "playbook_bullets": "bullet_id"}


def _rows_naming(
    rows: Rows, playbook_id: int, table: str, key: str, user: str
) -> Iterator[tuple[Any, ...]]:
    """Rows of a table whose body names the user: key, one more column, body."""
    statement = (
        f"SELECT {key}, {_SECOND.get(table, key)}, body FROM {table} "  # noqa: S608 - our names
        f"WHERE playbook = ? AND {key} > ? AND (body LIKE ? ESCAPE '!' OR body LIKE ? ESCAPE '!') "
        f"ORDER BY {key} LIMIT {_PAGE}"
    )
    needles, last = [_pattern(user, ascii_only=choice) for choice in (False, True)], -1
    while records := rows.all(statement, (playbook_id, last, *needles)):
        yield from records
        last = records[-1][0]


def _pattern(user: str, *, ascii_only: bool) -> str:
    """A LIKE pattern for the user's name as encoded in a body."""
    text = '"user":' + json.dumps(user, ensure_ascii=ascii_only)
    for character in "!%_":
        text = text.replace(character, f"!{character}")
    return f"%{text}%"


def _append_erase(rows: Rows, head: Head, at: datetime) -> None:
    """Append a version with the same content, so that holders of older ones reload."""
    new = head._replace(version=head.version + 1, last_seq=head.last_seq + 1)
    record = DeltaRecord(
        seq=new.last_seq,
        version=new.version,
        kind=DeltaKind.ERASE,
        bullet_id=None,
        status=DeltaStatus.APPLIED,
        reason="ok",
        created_at=at,
    )
    records = rows.all("SELECT count(*) FROM playbook_bullets WHERE playbook = ?", (head.id,))
    write_head(rows, new)
    counts = {record.kind.value: 1}
    append_log(rows, head.id, Entry([record], frozenset(), new.version, counts, at))
    write_version(rows, new, at=at, bullets=int(records[0][0]), counts=counts)
