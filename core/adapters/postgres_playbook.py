"""Playbooks in PostgreSQL: a row per bullet, an append-only delta log, compare-and-swap."""

import threading
import uuid
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from core.adapters.postgres_database import PostgresDatabase, page_size
from core.adapters.postgres_playbook_rows import (
    append_log,
    delta,
    forget_user,
    log,
    read_bullets,
    read_snapshot,
    write_bullets,
    write_snapshot,
)
from core.adapters.postgres_schema import Connection
from core.domain.playbook_versions import (
    check_known_version,
    check_playbook_version,
    next_version,
    playbook_digest,
    stored,
)
from core.domain.replay import replay, sealed
from core.errors import CorruptStoreError
from schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
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


class PostgresPlaybookStore:
    """A PlaybookStore in a PostgresDatabase."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        # The newest playbook by scope; used only while version and digest match the database.
        self._cache: OrderedDict[PlaybookScope, StoredPlaybook] = OrderedDict()
        self._mutex = threading.Lock()

    async def load(self, scope: PlaybookScope, *, version: int | None = None) -> StoredPlaybook:
        """The current playbook, or that of a version; NotFoundError if it never was."""

        def work(connection: Connection) -> StoredPlaybook:
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
        commit_id = uuid.uuid4().hex
        runs = 0

        def work(connection: Connection) -> StoredPlaybook:
            nonlocal runs
            runs += 1
            head = _head(connection, scope, lock=True)
            if runs > 1 and _stands(connection, head.id, commit_id):
                # The earlier run was committed, and only its answer was lost.
                return stored(next_version(expected_version, records), playbook)
            check_playbook_version(scope, head.version, expected_version)
            current = self._current(connection, scope, head).playbook
            version = next_version(head.version, records)
            result = stored(version, playbook)
            complete = sealed(current, playbook, records)
            playbook_id = _write_head(connection, scope, head, result)
            append_log(connection, playbook_id, complete, version, commit_id)
            if version != head.version:
                write_bullets(connection, playbook_id, current, playbook)
                if version % SNAPSHOT_EVERY == 0:
                    write_snapshot(connection, playbook_id, result)
            # Even if this transaction fails: version and digest decide whether it is used.
            self._remember(scope, result)
            return result

        return await self._database.write(work)

    async def deltas(
        self, scope: PlaybookScope, *, limit: int = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """A page of the delta log, newest first, at most `limit`."""

        def work(connection: Connection) -> list[DeltaRecord]:
            rows = connection.execute(
                "SELECT body FROM playbook_deltas WHERE playbook = %s AND seq < %s "
                "ORDER BY seq DESC LIMIT %s",
                (
                    _head(connection, scope).id,
                    _NEWEST if before is None else before,
                    page_size(limit),
                ),
            ).fetchall()
            return [delta(body) for (body,) in rows]

        return await self._database.read(work)

    async def replay(self, scope: PlaybookScope, *, version: int | None = None) -> Playbook:
        """The playbook rebuilt from empty by the delta log alone."""

        def work(connection: Connection) -> Playbook:
            head = _head(connection, scope)
            upto = head.version if version is None else version
            check_known_version(scope, head.version, upto)
            return replay(log(connection, head.id, after=-1, upto=upto))

        return await self._database.read(work)

    async def erase(self, tenant: Tenant) -> int:
        """Delete the user's playbook, and the user's provenance from shared logs; rows."""
        own = PlaybookScope(tenant.app, tenant.user)

        def work(connection: Connection) -> int:
            self._forget(own)
            playbook_id = _head(connection, own, lock=True).id
            row = connection.execute(
                "SELECT count(*) FROM playbook_deltas WHERE playbook = %s", (playbook_id,)
            ).fetchone()
            connection.execute("DELETE FROM playbooks WHERE id = %s", (playbook_id,))
            return int(row[0] if row else 0) + forget_user(connection, tenant)

        return await self._database.write(work)

    def _current(self, connection: Connection, scope: PlaybookScope, head: _Head) -> StoredPlaybook:
        with self._mutex:
            cached = self._cache.get(scope)
        if cached is not None and (cached.version, cached.digest) == (head.version, head.digest):
            return cached
        bullets = read_bullets(connection, head.id)
        current = stored(head.version, Playbook(bullets=bullets, next_id=head.next_id))
        if head.id and current.digest != head.digest:
            raise CorruptStoreError(
                f"playbook of app {scope.app!r}, version {head.version}: its bullets do not match "
                "their digest; restore the database from a copy, or roll back to an earlier version"
            )
        self._remember(scope, current)
        return current

    def _remember(self, scope: PlaybookScope, current: StoredPlaybook) -> None:
        with self._mutex:
            self._cache[scope] = current
            self._cache.move_to_end(scope)
            if len(self._cache) > _CACHED_SCOPES:
                self._cache.popitem(last=False)

    def _forget(self, scope: PlaybookScope) -> None:
        with self._mutex:
            self._cache.pop(scope, None)


def _head(connection: Connection, scope: PlaybookScope, *, lock: bool = False) -> _Head:
    statement = (
        "SELECT id, version, next_id, digest FROM playbooks "
        "WHERE app = %s AND shared = %s AND user_id = %s"
    )
    row = connection.execute(
        f"{statement}{' FOR UPDATE' if lock else ''}".encode(), _columns(scope)
    ).fetchone()
    return _Head(*row) if row else _Head(0, 0, 1, playbook_digest(Playbook()))


def _columns(scope: PlaybookScope) -> tuple[str, bool, str]:
    return scope.app, scope.user is None, scope.user or ""


def _stands(connection: Connection, playbook_id: int, commit_id: str) -> bool:
    """Whether the log holds a row of this commit; it came with all of the others, or with none."""
    row = connection.execute(
        "SELECT 1 FROM (SELECT commit_id FROM playbook_deltas WHERE playbook = %s "
        "ORDER BY seq DESC LIMIT 10000) AS recent WHERE commit_id = %s LIMIT 1",
        (playbook_id, commit_id),
    ).fetchone()
    return row is not None


def _write_head(
    connection: Connection, scope: PlaybookScope, head: _Head, result: StoredPlaybook
) -> int:
    values = (result.version, result.playbook.next_id, result.digest)
    if head.id:
        connection.execute(
            "UPDATE playbooks SET version = %s, next_id = %s, digest = %s WHERE id = %s",
            (*values, head.id),
        )
        return head.id
    row = connection.execute(
        "INSERT INTO playbooks (app, shared, user_id, version, next_id, digest) "
        "VALUES (%s, %s, %s, %s, %s, %s) RETURNING id",
        (*_columns(scope), *values),
    ).fetchone()
    return int(row[0]) if row else 0


def _at_version(connection: Connection, head: _Head, version: int) -> Playbook:
    """An old version: the nearest snapshot, and the log from there."""
    snapshot = read_snapshot(connection, head.id, upto=version)
    if snapshot is None:
        return replay(log(connection, head.id, after=-1, upto=version))
    reached, start = snapshot
    return replay(log(connection, head.id, after=reached, upto=version), start=start)
