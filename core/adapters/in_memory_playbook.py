"""Playbooks in memory, for tests and for `store=memory`."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from core.domain.playbook_versions import (
    check_known_version,
    check_playbook_version,
    next_version,
    numbered,
    stored,
    without_provenance,
)
from core.domain.replay import replay, sealed
from schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from schemas.tenancy import PlaybookScope, Tenant


@dataclass
class _Book:
    version: int = 0
    playbook: Playbook = field(default_factory=Playbook)
    log: list[DeltaRecord] = field(default_factory=list)


class InMemoryPlaybookStore:
    """A PlaybookStore that forgets at exit."""

    def __init__(self) -> None:
        self._books: dict[PlaybookScope, _Book] = {}

    async def load(self, scope: PlaybookScope, *, version: int | None = None) -> StoredPlaybook:
        """The current playbook, or that of a version; NotFoundError if it never was."""
        book = self._books.get(scope, _Book())
        if version is None or version == book.version:
            return stored(book.version, book.playbook)
        return stored(version, await self.replay(scope, version=version))

    async def commit(
        self,
        scope: PlaybookScope,
        playbook: Playbook,
        records: Sequence[DeltaRecord],
        *,
        expected_version: int,
    ) -> StoredPlaybook:
        """Store a new version and its records, all or none; ConflictError on another version."""
        book = self._books.get(scope, _Book())
        check_playbook_version(scope, book.version, expected_version)
        version = next_version(book.version, records)
        complete = sealed(book.playbook, playbook, records)
        log = book.log + numbered(complete, first_seq=len(book.log) + 1, version=version)
        self._books[scope] = _Book(version, playbook, log)
        return stored(version, playbook)

    async def deltas(
        self, scope: PlaybookScope, *, limit: int = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """A page of the delta log, newest first, at most `limit`."""
        log = self._books.get(scope, _Book()).log
        end = len(log) if before is None else max(before - 1, 0)
        return log[:end][::-1][: max(limit, 0)]

    async def replay(self, scope: PlaybookScope, *, version: int | None = None) -> Playbook:
        """The playbook rebuilt from empty by the delta log alone."""
        book = self._books.get(scope, _Book())
        upto = book.version if version is None else version
        check_known_version(scope, book.version, upto)
        return replay(record for record in book.log if record.version <= upto)

    async def erase(self, tenant: Tenant) -> int:
        """Delete the user's playbook, and the user's provenance from shared logs; rows."""
        own = self._books.pop(PlaybookScope(tenant.app, tenant.user), None)
        touched = len(own.log) if own else 0
        shared = self._books.get(PlaybookScope(tenant.app))
        if shared is not None:
            touched += sum(record.user == tenant.user for record in shared.log)
            shared.log = [
                without_provenance(record) if record.user == tenant.user else record
                for record in shared.log
            ]
        return touched
