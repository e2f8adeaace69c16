"""Playbooks in a SQL database: a row per bullet, an append-only delta log, compare-and-swap.

Every change is one transaction. It stores an idempotency key, since it may be retried after a
commit whose reply was lost.
"""

import uuid
from collections.abc import Callable, Sequence
from typing import NamedTuple

from acc_ace.clock import Clock, SystemClock
from acc_ace.core.playbook.delta_log import Change, entry_of, rolled_back
from acc_ace.core.playbook.playbook_store import PlaybookObserver
from acc_ace.core.playbook.playbook_versions import (
    check_known_version,
    check_playbook_version,
)
from acc_ace.core.schemas.base import PlaybookScope, Tenant
from acc_ace.core.schemas.delta import Author
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from acc_ace.storage.playbooks import playbook_log_rows as log_rows
from acc_ace.storage.playbooks import playbook_rows as table
from acc_ace.storage.playbooks.playbook_cache import CachedPlaybook
from acc_ace.storage.playbooks.playbook_erasure import erase_user
from acc_ace.storage.playbooks.playbook_log_rows import read_fates
from acc_ace.storage.playbooks.playbook_rows import Head, commit_key
from acc_ace.storage.playbooks.sql_playbook_queries import (
    SNAPSHOT_EVERY,
    SqlPlaybookReader,
)
from acc_ace.storage.sql_rows import Rows
from acc_ace.unit_of_work import Database


class _Target(NamedTuple):
    """The target of a change, and its current content."""

    rows: Rows
    scope: PlaybookScope
    head: Head
    known: CachedPlaybook


class SqlPlaybookStore(SqlPlaybookReader):
    """A PlaybookStore in a database."""

    def __init__(
        self,
        database: Database,
        clock: Clock | None = None,
        *,
        follower: PlaybookObserver | None = None,
    ) -> None:
        super().__init__(database, follower=follower)
        self._clock = clock or SystemClock()

    async def commit(
        self,
        scope: PlaybookScope,
        playbook: Playbook,
        records: Sequence[DeltaRecord],
        *,
        expected_version: int,
        commit_id: str | None = None,
    ) -> StoredPlaybook:
        """Store a new version and its records atomically; ConflictError on another version."""
        work = self._commit(scope, playbook, records, expected_version)
        return await self._change(scope, work, commit_id)

    def _commit(
        self,
        scope: PlaybookScope,
        playbook: Playbook,
        records: Sequence[DeltaRecord],
        expected_version: int,
    ) -> Callable[[Rows, str], StoredPlaybook]:
        def work(rows: Rows, key: str) -> StoredPlaybook:
            head = table.find_head(rows, scope, lock=True)
            if (earlier := self._earlier(rows, scope, head, key)) is not None:
                return earlier
            check_playbook_version(scope, head.version, expected_version)
            known = self._current(rows, scope, head)
            place = _Target(rows, scope, head, known)
            return self._store(place, Change(playbook, list(records)), key)

        return work

    async def rollback(
        self, scope: PlaybookScope, version: int, *, expected_version: int, by: Author
    ) -> StoredPlaybook:
        """Store a new version with the content and digest of an old one."""

        def work(rows: Rows, key: str) -> StoredPlaybook:
            head = table.find_head(rows, scope, lock=True)
            if (earlier := self._earlier(rows, scope, head, key)) is not None:
                return earlier
            check_known_version(scope, head.version, version)
            check_playbook_version(scope, head.version, expected_version)
            known = self._current(rows, scope, head)
            target = self._at(rows, scope, head, version)
            fates = read_fates(rows, head.id, _removed(known, target), upto=version)
            change = rolled_back(known.playbook, target, by=by, fates=fates)
            return self._store(_Target(rows, scope, head, known), change, key)

        return await self._change(scope, work)

    async def erase(self, tenant: Tenant) -> int:
        """Delete the user's own playbook and provenance in shared ones; return rows touched."""
        touched = await self._database.write(lambda rows: self.erase_rows(rows, tenant))
        await self._database.scrub()
        return touched

    async def erased_shared(self, app: str) -> None:
        """Notify the observer to rewrite an app's shared playbooks, without an erased user."""
        if self._follower is None:
            return
        self._follower.changed(self, PlaybookScope(app))

    async def settle(self) -> None:
        """Wait for the observer to catch up."""
        if self._follower is not None:
            await self._follower.settle()

    def erase_rows(self, rows: Rows, tenant: Tenant) -> int:
        """`erase` in a transaction."""
        self._cache.clear()
        return erase_user(rows, tenant, at=self._clock.now())

    async def _change(
        self,
        scope: PlaybookScope,
        work: Callable[[Rows, str], StoredPlaybook],
        commit_id: str | None = None,
    ) -> StoredPlaybook:
        """Change the playbook of a scope, and notify the observer."""
        key = commit_key(uuid.uuid4().hex if commit_id is None else commit_id)
        changed = await self._database.write(lambda rows: work(rows, key))
        if self._follower is not None:
            self._follower.changed(self, scope)
        return changed

    def _earlier(
        self, rows: Rows, scope: PlaybookScope, head: Head, key: str
    ) -> StoredPlaybook | None:
        """The result of this change if it was committed before, or None."""
        version = table.committed_version(rows, head.id, key)
        return None if version is None else self._at(rows, scope, head, version)

    def _store(self, place: _Target, change: Change, key: str) -> StoredPlaybook:
        """Write a change; the playbook's row is locked."""
        rows, scope, head, known = place
        entry = entry_of(known.stored, change.playbook, change.records, last_seq=head.last_seq)
        if not head.id:
            head = table.create_head(rows, scope)
        log_rows.append_log(rows, head.id, entry)
        table.write_commit(rows, head.id, key, entry.version)
        head = head._replace(last_seq=head.last_seq + len(entry.records))
        if entry.at is None:
            table.write_head(rows, head)
            return known.stored
        result = known.after(head.id, entry.version, change.playbook)
        head = _store_bullets(rows, head, known, result)
        bullets = len(result.pieces)
        log_rows.write_version(rows, head, at=entry.at, bullets=bullets, counts=entry.counts)
        # Safe even if this transaction fails: readers validate version and digest.
        self._cache.put(scope, result)
        return result.stored


def _store_bullets(rows: Rows, head: Head, known: CachedPlaybook, result: CachedPlaybook) -> Head:
    """Write the bullets of a new version; return the playbook's row after it."""
    playbook = result.playbook
    new = head._replace(
        version=result.stored.version,
        next_id=playbook.next_id,
        digest=result.stored.digest,
        last_position=table.write_bullets(rows, head, known.pieces, result.pieces),
    )
    table.write_head(rows, new)
    log_rows.settle_returned(rows, head.id, _returned(known, result))
    if new.version % SNAPSHOT_EVERY == 0:
        table.write_snapshot(rows, head.id, new.version, playbook)
    return new


def _removed(known: CachedPlaybook, target: StoredPlaybook) -> list[str]:
    """Ids of bullets that are in the current playbook but not in the target."""
    ids = {bullet.id for bullet in target.playbook.bullets}
    return [bullet_id for bullet_id in known.pieces if bullet_id not in ids]


def _returned(known: CachedPlaybook, result: CachedPlaybook) -> list[str]:
    """Ids of restored bullets, recognised by numbers that were used before."""
    return [
        name
        for name, piece in result.pieces.items()
        if name not in known.pieces and piece.number < known.playbook.next_id
    ]
