"""Playbooks in memory, for tests and for `store=memory`."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from core.domain.replay import replay, sealed
from core.errors import ConflictError, NotFoundError
from schemas.delta import DeltaStatus
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


def stored(version: int, playbook: Playbook) -> StoredPlaybook:
    """A playbook with its version and digest."""
    return StoredPlaybook(version=version, digest=playbook_digest(playbook), playbook=playbook)


def playbook_digest(playbook: Playbook) -> str:
    """SHA-256 of the canonical JSON."""
    return hashlib.sha256(playbook.dumps().encode("utf-8", "surrogatepass")).hexdigest()


def next_version(current: int, records: Sequence[DeltaRecord]) -> int:
    """The version that the records lead to: the current one if none was applied."""
    return current + any(record.status is DeltaStatus.APPLIED for record in records)


def numbered(records: Sequence[DeltaRecord], *, first_seq: int, version: int) -> list[DeltaRecord]:
    """The records with their place in the log."""
    return [
        record.model_copy(update={"seq": seq, "version": version})
        for seq, record in enumerate(records, start=first_seq)
    ]


def without_provenance(record: DeltaRecord) -> DeltaRecord:
    """The record without who, where and when; what was never applied loses its words too."""
    update: dict[str, object] = {"user": "", "session": "", "turn": 0}
    if record.status is not DeltaStatus.APPLIED:
        update |= {"before": None, "after": None, "proposed": None}
    return record.model_copy(update=update)


def check_playbook_version(scope: PlaybookScope, current: int, expected: int) -> None:
    """Raise ConflictError unless the current version is the expected one."""
    if current != expected:
        raise ConflictError(
            f"playbook of {_named(scope)} is at version {current}, not {expected}: another commit "
            "came first; load it and apply the operations again"
        )


def check_known_version(scope: PlaybookScope, current: int, version: int) -> None:
    """Raise NotFoundError for a version that never was."""
    if not 0 <= version <= current:
        raise NotFoundError(
            f"playbook of {_named(scope)} has no version {version}; it has 0 to {current}"
        )


def _named(scope: PlaybookScope) -> str:
    return f"app {scope.app!r}" + (f", user {scope.user!r}" if scope.user is not None else "")
