"""Playbooks in memory, for tests and for `store=memory`. Only its log and its heads are kept."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from core.adapters.clock import SystemClock
from core.domain.playbook_changes import (
    Author,
    Change,
    check_branch_name,
    check_promotion,
    check_room,
    forked,
    promoted,
    rolled_back,
)
from core.domain.playbook_log import (
    archived_in,
    check_decisions,
    fates_at,
    held_in,
    redirect_in,
    version_of,
)
from core.domain.playbook_versions import (
    check_known_version,
    check_playbook_version,
    named,
    next_version,
    numbered,
    stored,
    without_origin,
    without_user,
)
from core.domain.replay import replay, sealed
from core.errors import InputError, NotFoundError
from core.ports.clock import Clock
from schemas.bullet import clean_id
from schemas.delta import DeltaKind, DeltaStatus
from schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from schemas.playbook_version import Branch, PlaybookVersion
from schemas.tenancy import PlaybookScope, Tenant


@dataclass
class _Book:
    stored: StoredPlaybook = field(default_factory=lambda: stored(0, Playbook()))
    log: list[DeltaRecord] = field(default_factory=list)
    versions: list[PlaybookVersion] = field(default_factory=list)
    commits: dict[str, int] = field(default_factory=dict)
    parent: str | None = None
    parent_version: int = 0


class InMemoryPlaybookStore:
    """A PlaybookStore that forgets at exit."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._books: dict[PlaybookScope, _Book] = {}
        self._clock = clock or SystemClock()

    async def load(self, scope: PlaybookScope, *, version: int | None = None) -> StoredPlaybook:
        """The current playbook, or that of a version; NotFoundError if it never was."""
        book = self._book(scope)
        return book.stored if version is None else _at(scope, book, version)

    async def committed(self, scope: PlaybookScope, commit_id: str) -> StoredPlaybook | None:
        """What the commit of that name led to, or None if it did not take place."""
        book = self._book(scope)
        version = book.commits.get(commit_id)
        return None if version is None else _at(scope, book, version)

    async def replay(self, scope: PlaybookScope, *, version: int | None = None) -> Playbook:
        """The playbook rebuilt from empty by the delta log alone."""
        book = self._book(scope)
        upto = book.stored.version if version is None else version
        check_known_version(scope, book.stored.version, upto)
        return replay(record for record in book.log if record.version <= upto)

    async def deltas(
        self, scope: PlaybookScope, *, limit: int = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """A page of the delta log, newest first, at most `limit`."""
        return _page(self._book(scope).log, limit, before)

    async def history(
        self, scope: PlaybookScope, bullet_id: str, *, limit: int = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """The records about a bullet and those merged into it, newest first."""
        name, log = clean_id(bullet_id), self._book(scope).log
        about = [record for record in log if name in (record.bullet_id, record.merged_into)]
        return _page(about, limit, before)

    async def held(
        self, scope: PlaybookScope, *, limit: int = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """The held operations that nobody decided yet, newest first."""
        return _page(held_in(self._book(scope).log), limit, before)

    async def archived(
        self, scope: PlaybookScope, *, limit: int = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """The records that archived a bullet which did not come back, newest first."""
        return _page(archived_in(self._book(scope).log), limit, before)

    async def versions(
        self, scope: PlaybookScope, *, limit: int = 50, before: int | None = None
    ) -> Sequence[PlaybookVersion]:
        """The versions, newest first."""
        found = self._book(scope).versions
        older = [item for item in found if before is None or item.version < before]
        return older[::-1][: max(limit, 0)]

    async def resolve(self, scope: PlaybookScope, bullet_id: str) -> str | None:
        """The live bullet that an id stands for, or None."""
        book = self._book(scope)
        live = {bullet.id for bullet in book.stored.playbook.bullets}
        name, seen = clean_id(bullet_id), set[str]()
        while name not in live:
            following = self._redirect(scope, book, name)
            if following is None or following in seen:
                return None
            seen.add(following)
            name = following
        return name

    async def branches(self, scope: PlaybookScope) -> Sequence[Branch]:
        """The branches of the playbook besides the main one, by name."""
        return [
            Branch(
                scope=other,
                version=book.stored.version,
                digest=book.stored.digest,
                bullets=len(book.stored.playbook.bullets),
                parent=book.parent,
                parent_version=book.parent_version,
            )
            for other, book in sorted(self._branches(scope), key=lambda item: item[0].branch)
        ]

    async def commit(
        self,
        scope: PlaybookScope,
        playbook: Playbook,
        records: Sequence[DeltaRecord],
        *,
        expected_version: int,
        commit_id: str | None = None,
    ) -> StoredPlaybook:
        """Store a new version and its records, all or none; ConflictError on another version."""
        book = self._book(scope)
        if commit_id is not None and commit_id in book.commits:
            return _at(scope, book, book.commits[commit_id])
        check_playbook_version(scope, book.stored.version, expected_version)
        return self._store(scope, book, Change(playbook, list(records)), commit_id)

    async def rollback(
        self, scope: PlaybookScope, version: int, *, expected_version: int, by: Author
    ) -> StoredPlaybook:
        """Store a new version with the content of an old one; its digest is that one's."""
        book = self._book(scope)
        target = _at(scope, book, version)
        check_playbook_version(scope, book.stored.version, expected_version)
        fates = fates_at(book.log, version)
        change = rolled_back(book.stored.playbook, target, by=by, fates=fates)
        return self._store(scope, book, change)

    async def fork(
        self, scope: PlaybookScope, branch: str, *, by: Author, version: int | None = None
    ) -> StoredPlaybook:
        """Begin a branch with the content of a version of another one."""
        check_branch_name(branch)
        book, target = self._book(scope), scope._replace(branch=branch)
        check_room(target, len(self._branches(scope)), exists=target in self._books)
        source = book.stored if version is None else _at(scope, book, version)
        begun = _Book(parent=scope.branch, parent_version=source.version)
        return self._store(target, begun, forked(source, scope, by=by))

    async def promote(
        self, scope: PlaybookScope, *, by: Author, expected_version: int | None = None
    ) -> StoredPlaybook:
        """Make the bullets of a branch those of the main one."""
        main = scope._replace(branch="")
        if main == scope:
            raise InputError("the main branch cannot be promoted; name another one")
        branch, book = self._book(scope), self._book(main)
        forked_from = branch.parent_version if branch.parent == "" else None
        check_promotion(main, book.stored.version, forked_from, expected_version)
        first = replay(record for record in branch.log if record.version <= 1)
        change = promoted(
            book.stored.playbook,
            branch.stored,
            scope,
            forked_next_id=first.next_id,
            by=by,
            fates=fates_at(branch.log, branch.stored.version),
        )
        return self._store(main, book, change)

    async def drop(self, scope: PlaybookScope) -> None:
        """Delete a branch with its log."""
        if not scope.branch:
            raise InputError("the main branch cannot be deleted")
        self._book(scope)
        del self._books[scope]
        for _, other in self._branches(scope):
            if other.parent == scope.branch:
                other.parent = None

    def tenants(self) -> set[Tenant]:
        """The users with a playbook of their own, or with records in a shared one."""
        owners = {Tenant(app, user) for app, user, _ in self._books if user is not None}
        return owners | {
            Tenant(scope.app, record.user)
            for scope, book in self._books.items()
            for record in book.log
            if record.user
        }

    async def erase(self, tenant: Tenant) -> int:
        """Delete the user's own playbook and their provenance in shared ones; rows touched."""
        own = [scope for scope in self._books if scope[:2] == tuple(tenant)]
        touched = sum(len(self._books.pop(scope).log) for scope in own)
        shared = [scope for scope in self._books if scope[:2] == (tenant.app, None)]
        return touched + sum(self._forget(scope, tenant.user) for scope in shared)

    def _forget(self, scope: PlaybookScope, user: str) -> int:
        """Take a user out of a shared playbook; rows touched."""
        book = self._books[scope]
        log = [without_user(record, user) for record in book.log]
        before = book.stored.playbook
        bullets = tuple(without_origin(bullet, user) for bullet in before.bullets)
        touched = sum(old != new for old, new in zip(book.log, log, strict=True))
        book.log = log
        if bullets == before.bullets:
            return touched
        said = DeltaRecord(
            kind=DeltaKind.ERASE,
            bullet_id=None,
            status=DeltaStatus.APPLIED,
            reason="ok",
            created_at=self._clock.now(),
        )
        changed = sum(old != new for old, new in zip(before.bullets, bullets, strict=True))
        forgotten = before.model_copy(update={"bullets": bullets})
        book.stored = stored(book.stored.version, forgotten)
        self._store(scope, book, Change(forgotten, [said]))
        return touched + changed

    def _book(self, scope: PlaybookScope) -> _Book:
        """The playbook of a scope; the main branch always exists, others have to."""
        book = self._books.get(scope)
        if book is None and scope.branch:
            raise NotFoundError(
                f"playbook of {named(scope._replace(branch=''))} has no branch {scope.branch!r}"
            )
        return book or _Book()

    def _branches(self, scope: PlaybookScope) -> list[tuple[PlaybookScope, _Book]]:
        return [
            (other, book)
            for other, book in self._books.items()
            if other.branch and other[:2] == scope[:2]
        ]

    def _redirect(self, scope: PlaybookScope, book: _Book, name: str) -> str | None:
        """What a bullet that is gone was merged into; a branch asks what it was forked from."""
        found = redirect_in(book.log, name, upto=book.stored.version)
        while found is None and book.parent is not None:
            upto, scope = book.parent_version, scope._replace(branch=book.parent)
            book = self._book(scope)
            found = redirect_in(book.log, name, upto=upto)
        return found.merged_into if found else None

    def _store(
        self, scope: PlaybookScope, book: _Book, change: Change, commit_id: str | None = None
    ) -> StoredPlaybook:
        complete = sealed(book.stored.playbook, change.playbook, change.records)
        check_decisions(book.log, complete)
        version = next_version(book.stored.version, complete)
        log = numbered(complete, first_seq=len(book.log) + 1, version=version)
        if version != book.stored.version:
            book.stored = stored(version, change.playbook)
            book.versions.append(version_of(book.stored, log))
        book.log += log
        if commit_id is not None:
            book.commits[commit_id] = version
        self._books[scope] = book
        return book.stored


def _at(scope: PlaybookScope, book: _Book, version: int) -> StoredPlaybook:
    check_known_version(scope, book.stored.version, version)
    if version == book.stored.version:
        return book.stored
    return stored(version, replay(record for record in book.log if record.version <= version))


def _page(records: Sequence[DeltaRecord], limit: int, before: int | None) -> Sequence[DeltaRecord]:
    older = [record for record in records if before is None or record.seq < before]
    return older[::-1][: max(limit, 0)]
