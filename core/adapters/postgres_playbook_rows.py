"""The rows under a playbook in PostgreSQL: bullets, delta log, snapshots."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from core.adapters.json_codec import decode, encode
from core.adapters.postgres_schema import Connection
from core.domain.playbook_versions import numbered, without_provenance
from core.errors import CorruptStoreError, PlaybookError
from schemas.playbook import Bullet, DeltaRecord, Playbook, StoredPlaybook
from schemas.tenancy import Tenant


class Snapshot(NamedTuple):
    """A whole playbook as it stood at a version."""

    version: int
    playbook: Playbook


def read_bullets(connection: Connection, playbook_id: int) -> tuple[Bullet, ...]:
    """The current bullets, in order."""
    rows = connection.execute(
        "SELECT bullet_id, body FROM playbook_bullets WHERE playbook = %s ORDER BY position",
        (playbook_id,),
    ).fetchall()
    return tuple(
        decode(Bullet, body, what=f"playbook bullet {bullet_id!r}") for bullet_id, body in rows
    )


def write_bullets(
    connection: Connection, playbook_id: int, current: Playbook, playbook: Playbook
) -> None:
    """Write what differs; positions are places in the tuple, rewritten only where they moved."""
    before = {bullet.id: (at, bullet) for at, bullet in enumerate(current.bullets)}
    after = {bullet.id: (at, bullet) for at, bullet in enumerate(playbook.bullets)}
    removed = [bullet_id for bullet_id in before if bullet_id not in after]
    if removed:
        connection.execute(
            "DELETE FROM playbook_bullets WHERE playbook = %s AND bullet_id = ANY(%s)",
            (playbook_id, removed),
        )
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO playbook_bullets (playbook, bullet_id, position, body) "
            "VALUES (%s, %s, %s, %s) ON CONFLICT (playbook, bullet_id) DO UPDATE "
            "SET position = excluded.position, body = excluded.body",
            [
                (playbook_id, bullet_id, at, encode(bullet))
                for bullet_id, (at, bullet) in after.items()
                if before.get(bullet_id) != (at, bullet)
            ],
        )


def append_log(
    connection: Connection,
    playbook_id: int,
    records: Sequence[DeltaRecord],
    version: int,
    commit_id: str,
) -> None:
    """Append records of a version to the log; the playbook's row is locked meanwhile."""
    row = connection.execute(
        "SELECT coalesce(max(seq), 0) FROM playbook_deltas WHERE playbook = %s", (playbook_id,)
    ).fetchone()
    first = 1 + (row[0] if row else 0)
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO playbook_deltas (playbook, seq, version, user_id, commit_id, body) "
            "VALUES (%s, %s, %s, %s, %s, %s)",
            [
                (playbook_id, record.seq, version, record.user, commit_id, encode(record))
                for record in numbered(records, first_seq=first, version=version)
            ],
        )


def log(connection: Connection, playbook_id: int, *, after: int, upto: int) -> list[DeltaRecord]:
    """The records of the versions later than `after`, up to and with `upto`."""
    rows = connection.execute(
        "SELECT body FROM playbook_deltas WHERE playbook = %s AND version > %s AND version <= %s "
        "ORDER BY seq",
        (playbook_id, after, upto),
    ).fetchall()
    return [delta(body) for (body,) in rows]


def delta(body: str) -> DeltaRecord:
    """A record of the log; raises CorruptStoreError."""
    return decode(DeltaRecord, body, what="playbook delta log")


def write_snapshot(connection: Connection, playbook_id: int, result: StoredPlaybook) -> None:
    """Keep a whole version, so that reading an old one need not start from empty."""
    connection.execute(
        "INSERT INTO playbook_snapshots (playbook, version, body) VALUES (%s, %s, %s)",
        (playbook_id, result.version, json.dumps(result.playbook.to_dict())),
    )


def read_snapshot(connection: Connection, playbook_id: int, *, upto: int) -> Snapshot | None:
    """The newest snapshot that is not later than `upto`."""
    row = connection.execute(
        "SELECT version, body FROM playbook_snapshots WHERE playbook = %s AND version <= %s "
        "ORDER BY version DESC LIMIT 1",
        (playbook_id, upto),
    ).fetchone()
    if row is None:
        return None
    try:
        return Snapshot(row[0], Playbook.loads(row[1]))
    except PlaybookError as error:
        raise CorruptStoreError(f"playbook snapshot of version {row[0]}: {error}") from error


def forget_user(connection: Connection, tenant: Tenant) -> int:
    """Take the user out of the shared log of the app; rows changed."""
    rows = connection.execute(
        "SELECT playbook, seq, playbook_deltas.body FROM playbook_deltas "
        "JOIN playbooks ON playbooks.id = playbook_deltas.playbook "
        "WHERE playbook_deltas.user_id = %s AND app = %s AND shared",
        (tenant.user, tenant.app),
    ).fetchall()
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE playbook_deltas SET user_id = '', body = %s WHERE playbook = %s AND seq = %s",
            [
                (encode(without_provenance(delta(body))), playbook_id, seq)
                for playbook_id, seq, body in rows
            ],
        )
    return len(rows)
