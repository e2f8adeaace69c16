"""Playbooks in SQLite: a row per bullet, an append-only delta log, compare-and-swap."""

import json
import sqlite3
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from core.adapters.json_codec import decode, encode
from core.adapters.sqlite_database import SqliteDatabase
from core.domain.playbook_versions import (
    check_known_version,
    check_playbook_version,
    next_version,
    numbered,
    playbook_digest,
    stored,
    without_provenance,
)
from core.domain.replay import replay, sealed
from core.errors import CorruptStoreError, PlaybookError
from schemas.playbook import Bullet, DeltaRecord, Playbook, StoredPlaybook
from schemas.tenancy import PlaybookScope, Tenant

SNAPSHOT_EVERY = 64
"""Versions between two snapshots: the most that loading an old version has to replay."""

_CACHED_SCOPES = 64
_NEWEST = 2**62


class _Head(NamedTuple):
    """The row of a playbook; `id` is 0 before the first commit."""

    id: int
    version: int
    next_id: int
    digest: str


class SqlitePlaybookStore:
    """A PlaybookStore in a SqliteDatabase."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        # The newest playbook by scope; used only while version and digest match the file.
        # Touched by the database's one thread alone.
        self._cache: OrderedDict[PlaybookScope, StoredPlaybook] = OrderedDict()

    async def load(self, scope: PlaybookScope, *, version: int | None = None) -> StoredPlaybook:
        """The current playbook, or that of a version; NotFoundError if it never was."""

        def work(connection: sqlite3.Connection) -> StoredPlaybook:
            head = _head(connection, scope)
            if version is None or version == head.version:
                return self._current(connection, scope, head)
            check_known_version(scope, head.version, version)
            return stored(version, _at_version(connection, head, version))

        return await self._database.read(work)

    async def commit(
        self,
        scope: PlaybookScope,
        playbook: Playbook,
        records: Sequence[DeltaRecord],
        *,
        expected_version: int,
    ) -> StoredPlaybook:
        """Store a new version and its records, all or none; ConflictError on another version."""

        def work(connection: sqlite3.Connection) -> StoredPlaybook:
            head = _head(connection, scope)
            check_playbook_version(scope, head.version, expected_version)
            current = self._current(connection, scope, head).playbook
            version = next_version(head.version, records)
            result = stored(version, playbook)
            complete = sealed(current, playbook, records)
            playbook_id = _write_head(connection, scope, head, result)
            _append_log(connection, playbook_id, complete, version)
            if version != head.version:
                _write_bullets(connection, playbook_id, current, playbook)
                if version % SNAPSHOT_EVERY == 0:
                    _write_snapshot(connection, playbook_id, result)
            # Even if this transaction fails: version and digest decide whether it is used.
            self._remember(scope, result)
            return result

        return await self._database.write(work)

    async def deltas(
        self, scope: PlaybookScope, *, limit: int = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """A page of the delta log, newest first, at most `limit`."""

        def work(connection: sqlite3.Connection) -> list[DeltaRecord]:
            rows = connection.execute(
                "SELECT body FROM playbook_deltas WHERE playbook = ? AND seq < ? "
                "ORDER BY seq DESC LIMIT ?",
                (
                    _head(connection, scope).id,
                    _NEWEST if before is None else before,
                    max(limit, 0),
                ),
            ).fetchall()
            return [_record(body) for (body,) in rows]

        return await self._database.read(work)

    async def replay(self, scope: PlaybookScope, *, version: int | None = None) -> Playbook:
        """The playbook rebuilt from empty by the delta log alone."""

        def work(connection: sqlite3.Connection) -> Playbook:
            head = _head(connection, scope)
            upto = head.version if version is None else version
            check_known_version(scope, head.version, upto)
            return replay(_log(connection, head.id, after=-1, upto=upto))

        return await self._database.read(work)

    async def erase(self, tenant: Tenant) -> int:
        """Delete the user's playbook, and the user's provenance from shared logs; rows."""
        own = PlaybookScope(tenant.app, tenant.user)

        def work(connection: sqlite3.Connection) -> int:
            self._cache.pop(own, None)
            playbook_id = _head(connection, own).id
            (touched,) = connection.execute(
                "SELECT count(*) FROM playbook_deltas WHERE playbook = ?", (playbook_id,)
            ).fetchone()
            connection.execute("DELETE FROM playbooks WHERE id = ?", (playbook_id,))
            return int(touched) + _forget_user(connection, tenant)

        touched = await self._database.write(work)
        await self._database.scrub()
        return touched

    def _current(
        self, connection: sqlite3.Connection, scope: PlaybookScope, head: _Head
    ) -> StoredPlaybook:
        cached = self._cache.get(scope)
        if cached is not None and (cached.version, cached.digest) == (head.version, head.digest):
            self._cache.move_to_end(scope)
            return cached
        current = stored(head.version, _from_rows(connection, head))
        if head.id and current.digest != head.digest:
            raise CorruptStoreError(
                f"playbook of app {scope.app!r}, version {head.version}: its bullets do not match "
                "their digest; restore the database from a copy, or roll back to an earlier version"
            )
        self._remember(scope, current)
        return current

    def _remember(self, scope: PlaybookScope, current: StoredPlaybook) -> None:
        self._cache[scope] = current
        self._cache.move_to_end(scope)
        if len(self._cache) > _CACHED_SCOPES:
            self._cache.popitem(last=False)


def _head(connection: sqlite3.Connection, scope: PlaybookScope) -> _Head:
    row = connection.execute(
        "SELECT id, version, next_id, digest FROM playbooks "
        "WHERE app = ? AND shared = ? AND user = ?",
        _columns(scope),
    ).fetchone()
    return _Head(*row) if row else _Head(0, 0, 1, playbook_digest(Playbook()))


def _columns(scope: PlaybookScope) -> tuple[str, bool, str]:
    return scope.app, scope.user is None, scope.user or ""


def _write_head(
    connection: sqlite3.Connection, scope: PlaybookScope, head: _Head, result: StoredPlaybook
) -> int:
    values = (result.version, result.playbook.next_id, result.digest)
    if head.id:
        connection.execute(
            "UPDATE playbooks SET version = ?, next_id = ?, digest = ? WHERE id = ?",
            (*values, head.id),
        )
        return head.id
    cursor = connection.execute(
        "INSERT INTO playbooks (app, shared, user, version, next_id, digest) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (*_columns(scope), *values),
    )
    return int(cursor.lastrowid or 0)


def _append_log(
    connection: sqlite3.Connection, playbook_id: int, records: Sequence[DeltaRecord], version: int
) -> None:
    (newest,) = connection.execute(
        "SELECT ifnull(max(seq), 0) FROM playbook_deltas WHERE playbook = ?", (playbook_id,)
    ).fetchone()
    connection.executemany(
        "INSERT INTO playbook_deltas (playbook, seq, version, user, body) VALUES (?, ?, ?, ?, ?)",
        [
            (playbook_id, record.seq, version, record.user, encode(record))
            for record in numbered(records, first_seq=newest + 1, version=version)
        ],
    )


def _write_bullets(
    connection: sqlite3.Connection, playbook_id: int, current: Playbook, playbook: Playbook
) -> None:
    """Write what differs; positions are places in the tuple, rewritten only where they moved."""
    before = {bullet.id: (at, bullet) for at, bullet in enumerate(current.bullets)}
    after = {bullet.id: (at, bullet) for at, bullet in enumerate(playbook.bullets)}
    connection.executemany(
        "DELETE FROM playbook_bullets WHERE playbook = ? AND bullet_id = ?",
        [(playbook_id, bullet_id) for bullet_id in before if bullet_id not in after],
    )
    connection.executemany(
        "INSERT OR REPLACE INTO playbook_bullets (playbook, bullet_id, position, body) "
        "VALUES (?, ?, ?, ?)",
        [
            (playbook_id, bullet_id, at, encode(bullet))
            for bullet_id, (at, bullet) in after.items()
            if before.get(bullet_id) != (at, bullet)
        ],
    )


def _write_snapshot(
    connection: sqlite3.Connection, playbook_id: int, result: StoredPlaybook
) -> None:
    connection.execute(
        "INSERT INTO playbook_snapshots (playbook, version, body) VALUES (?, ?, ?)",
        (playbook_id, result.version, json.dumps(result.playbook.to_dict())),
    )


def _from_rows(connection: sqlite3.Connection, head: _Head) -> Playbook:
    rows = connection.execute(
        "SELECT bullet_id, body FROM playbook_bullets WHERE playbook = ? ORDER BY position",
        (head.id,),
    ).fetchall()
    bullets = tuple(
        decode(Bullet, body, what=f"playbook bullet {bullet_id!r}") for bullet_id, body in rows
    )
    return Playbook(bullets=bullets, next_id=head.next_id)


def _at_version(connection: sqlite3.Connection, head: _Head, version: int) -> Playbook:
    """An old version: the nearest snapshot, and the log from there."""
    row = connection.execute(
        "SELECT version, body FROM playbook_snapshots WHERE playbook = ? AND version <= ? "
        "ORDER BY version DESC LIMIT 1",
        (head.id, version),
    ).fetchone()
    if row is None:
        return replay(_log(connection, head.id, after=-1, upto=version))
    try:
        start = Playbook.loads(row[1])
    except PlaybookError as error:
        raise CorruptStoreError(f"playbook snapshot of version {row[0]}: {error}") from error
    return replay(_log(connection, head.id, after=row[0], upto=version), start=start)


def _log(
    connection: sqlite3.Connection, playbook_id: int, *, after: int, upto: int
) -> list[DeltaRecord]:
    rows = connection.execute(
        "SELECT body FROM playbook_deltas WHERE playbook = ? AND version > ? AND version <= ? "
        "ORDER BY seq",
        (playbook_id, after, upto),
    ).fetchall()
    return [_record(body) for (body,) in rows]


def _forget_user(connection: sqlite3.Connection, tenant: Tenant) -> int:
    rows = connection.execute(
        "SELECT playbook, seq, playbook_deltas.body FROM playbook_deltas "
        "JOIN playbooks ON playbooks.id = playbook_deltas.playbook "
        "WHERE playbook_deltas.user = ? AND app = ? AND shared",
        (tenant.user, tenant.app),
    ).fetchall()
    connection.executemany(
        "UPDATE playbook_deltas SET user = '', body = ? WHERE playbook = ? AND seq = ?",
        [
            (encode(without_provenance(_record(body))), playbook_id, seq)
            for playbook_id, seq, body in rows
        ],
    )
    return len(rows)


def _record(body: str) -> DeltaRecord:
    return decode(DeltaRecord, body, what="playbook delta log")
