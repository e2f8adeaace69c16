"""Read playbooks from a SQL database.

The queries are the same in SQLite and PostgreSQL; only the connection differs.
"""

from collections.abc import Sequence
from typing import TypeVar

from acc_ace.core.playbook.delta_log import replay
from acc_ace.core.playbook.playbook_store import PlaybookObserver
from acc_ace.core.playbook.playbook_versions import (
    check_known_version,
    named,
    stored,
)
from acc_ace.core.schemas.base import PlaybookScope
from acc_ace.core.schemas.bullet import clean_id
from acc_ace.core.schemas.delta import DeltaKind, PlaybookVersion
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from acc_ace.errors import CorruptStoreError
from acc_ace.storage.playbooks import playbook_log_rows as log_rows
from acc_ace.storage.playbooks import playbook_rows as table
from acc_ace.storage.playbooks.playbook_cache import CachedPlaybook, PlaybookCache
from acc_ace.storage.playbooks.playbook_log_rows import read_redirect
from acc_ace.storage.playbooks.playbook_rows import Head
from acc_ace.storage.sql_rows import Rows
from acc_ace.unit_of_work import Database

SNAPSHOT_EVERY = 64
"""Versions between two snapshots: the maximum to replay when loading an old version."""

MAX_HOPS = 64
"""Maximum merges through which an old id is resolved."""

EMPTY = CachedPlaybook.of(0, 0, Playbook())
"""Every playbook before its first commit."""

T = TypeVar("T")


class SqlPlaybookReader:
    """A PlaybookReader in a database."""

    def __init__(
        self,
        database: Database,
        *,
        follower: PlaybookObserver | None = None,
    ) -> None:
        self._database, self._follower = database, follower
        self._cache = PlaybookCache()

    async def load(self, scope: PlaybookScope, *, version: int | None = None) -> StoredPlaybook:
        """The current playbook, or that of a version; NotFoundError if it never existed."""

        def work(rows: Rows) -> StoredPlaybook:
            head = table.find_head(rows, scope)
            return self._at(rows, scope, head, head.version if version is None else version)

        state = await self._database.read(work)
        if self._follower is not None:
            self._follower.opened(self, scope)
        return state

    async def committed(self, scope: PlaybookScope, commit_id: str) -> StoredPlaybook | None:
        """The result of the commit with this id, or None if it did not take place."""
        key = table.commit_key(commit_id)

        def work(rows: Rows) -> StoredPlaybook | None:
            head = table.find_head(rows, scope)
            version = table.committed_version(rows, head.id, key)
            return None if version is None else self._at(rows, scope, head, version)

        return await self._database.read(work)

    async def replay(self, scope: PlaybookScope, *, version: int | None = None) -> Playbook:
        """Rebuild the playbook from the delta log alone."""

        def work(rows: Rows) -> Playbook:
            head = table.find_head(rows, scope)
            upto = head.version if version is None else version
            check_known_version(scope, head.version, upto)
            return replay(log_rows.read_log(rows, head.id, after=-1, upto=upto))

        return await self._database.read(work)

    async def deltas(
        self, scope: PlaybookScope, *, limit: int = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """A page of the delta log, newest first, at most `limit`."""
        return await self._page(scope, "playbook = ?", limit=limit, before=before)

    async def held(
        self, scope: PlaybookScope, *, limit: int = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """The held operations that are undecided, newest first."""
        where = "playbook = ? AND status = 'held' AND standing"
        return await self._page(scope, where, limit=limit, before=before)

    async def archived(
        self, scope: PlaybookScope, *, limit: int = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """The records that archived a bullet that was not restored, newest first."""
        where = "playbook = ? AND status = 'applied' AND standing"
        return await self._page(scope, where, limit=limit, before=before)

    async def history(
        self, scope: PlaybookScope, bullet_id: str, *, limit: int = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """The records about a bullet and those merged into it, newest first."""
        name = clean_id(bullet_id)
        return await self._database.read(
            lambda rows: log_rows.read_history(
                rows, table.find_head(rows, scope).id, name, limit=limit, before=before
            )
        )

    async def versions(
        self, scope: PlaybookScope, *, limit: int = 50, before: int | None = None
    ) -> Sequence[PlaybookVersion]:
        """The versions, newest first."""
        return await self._database.read(
            lambda rows: log_rows.read_versions(
                rows, table.find_head(rows, scope).id, limit=limit, before=before
            )
        )

    async def resolve(self, scope: PlaybookScope, bullet_id: str) -> str | None:
        """Resolve an id to its live bullet through merges, or None."""

        def work(rows: Rows) -> str | None:
            head = table.find_head(rows, scope)
            name, seen = clean_id(bullet_id), set[str]()
            while name not in seen and len(seen) < MAX_HOPS:
                if table.is_live(rows, head.id, name):
                    return name
                seen.add(name)
                following = read_redirect(rows, head.id, name)
                if following is None:
                    return None
                name = following
            return None

        return await self._database.read(work)

    async def _page(
        self, scope: PlaybookScope, where: str, *, limit: int, before: int | None
    ) -> Sequence[DeltaRecord]:
        return await self._database.read(
            lambda rows: log_rows.read_page(
                rows, where, (table.find_head(rows, scope).id,), limit=limit, before=before
            )
        )

    def _at(self, rows: Rows, scope: PlaybookScope, head: Head, version: int) -> StoredPlaybook:
        """A version, the current one included."""
        check_known_version(scope, head.version, version)
        if version == head.version:
            return self._current(rows, scope, head).stored
        if version == 0:
            return stored(0, Playbook())
        reached, start = table.read_snapshot(rows, head.id, upto=version)
        log = log_rows.read_log(rows, head.id, after=reached or -1, upto=version)
        state = stored(version, replay(log, start=start))
        digest = log_rows.digest_of_version(rows, head.id, version)
        if digest is not None and digest != state.digest:
            raise CorruptStoreError(
                f"playbook of {named(scope)}, version {version}: its delta log does not match "
                "its digest; restore the database from a copy"
            )
        return state

    def _current(self, rows: Rows, scope: PlaybookScope, head: Head) -> CachedPlaybook:
        """The newest playbook: cached, caught up from the log, or read from its rows."""
        if head.version == 0:
            return EMPTY
        known = self._cache.get(scope)
        if known is not None and known.playbook_id == head.id:
            if (known.stored.version, known.stored.digest) == (head.version, head.digest):
                return known
            if 0 < head.version - known.stored.version <= SNAPSHOT_EVERY:
                caught_up = _caught_up(rows, head, known)
                if caught_up is not None:
                    self._cache.put(scope, caught_up)
                    return caught_up
        known = CachedPlaybook.of(head.id, head.version, _from_rows(rows, scope, head))
        recorded = log_rows.digest_of_version(rows, head.id, head.version)
        if {head.digest, recorded or head.digest} != {known.stored.digest}:
            raise CorruptStoreError(
                f"playbook of {named(scope)}, version {head.version}: its bullets do not match "
                "their digest; restore the database from a copy"
            )
        self._cache.put(scope, known)
        return known


def _from_rows(rows: Rows, scope: PlaybookScope, head: Head) -> Playbook:
    bullets = table.read_bullets(rows, head.id)
    try:
        return Playbook(bullets=bullets, next_id=head.next_id)
    except ValueError:
        raise CorruptStoreError(
            f"playbook of {named(scope)}, version {head.version}: its bullets and its id counter "
            "are inconsistent; restore the database from a copy"
        ) from None  # Its trace would show the bullets' content.


def _caught_up(rows: Rows, head: Head, known: CachedPlaybook) -> CachedPlaybook | None:
    """The cached playbook plus later commits from the log; None if the digest does not match."""
    log = log_rows.read_log(rows, head.id, after=known.stored.version, upto=head.version)
    if any(record.kind is DeltaKind.ERASE for record in log):
        # Rows of older records have changed too.
        return None
    playbook = replay(log, start=known.playbook)
    state = known.after(head.id, head.version, playbook)
    return state if state.stored.digest == head.digest else None
