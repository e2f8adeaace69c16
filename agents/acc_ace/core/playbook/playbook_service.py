"""Manual operations on a playbook: apply, pin, edit, restore, review, import and search.

The command line and the HTTP API call the same methods. Every change is a compare-and-swap
commit with the person as its author, and can be rolled back.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from acc_ace.clock import Clock
from acc_ace.core.playbook.bullet_import import imported
from acc_ace.core.playbook.bullet_lookup import (
    BulletHistory,
    Hit,
    removed,
    search_bullets,
    unknown_bullet,
    why_not_live,
)
from acc_ace.core.playbook.curation.curation_record import OK, rejected
from acc_ace.core.playbook.curation.delta_guard import Curated, CurationContext, curate
from acc_ace.core.playbook.manual_edit import Edit, check_budgets, check_edit, edited
from acc_ace.core.playbook.playbook_diff import PlaybookDiff, diff_playbooks
from acc_ace.core.playbook.playbook_form import Reading
from acc_ace.core.playbook.playbook_store import PlaybookStore
from acc_ace.core.playbook.refine.refinement import room_maker
from acc_ace.core.playbook.swap_tries import swap_tries
from acc_ace.core.schemas.base import PlaybookScope
from acc_ace.core.schemas.bullet import Bullet, clean_id
from acc_ace.core.schemas.delta import Author, DeltaBatch, DeltaKind, DeltaResult, DeltaStatus
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from acc_ace.core.schemas.report import ReportedDeparture
from acc_ace.errors import ConflictError, InputError, NotFoundError, PlaybookError

PAGE = 200
"""Maximum records of one page."""

MOST_IMPORTED = 10_000
"""Maximum bullets of one import; each is screened and logged."""

_MOST_SEQ = 2**53 - 1
_MOST_RECORDS = 2_000
"""Maximum records read for the history of one bullet."""

Change = Callable[[Playbook], Curated]


@dataclass(frozen=True)
class PlaybookEdit:
    """The playbook after a change, and how each operation ended."""

    stored: StoredPlaybook
    results: list[DeltaResult]
    left: list[ReportedDeparture] = field(default_factory=list)
    """Bullets that left a full playbook."""
    passed_over: int | None = None
    """Of an imported file, the lines that are no lesson."""

    def to_line(self) -> dict[str, Any]:
        """`{version, results: [{type, bullet_id, status, reason}]}`.

        With `left` where bullets left, and `passed_over` after an import.
        """
        results = [result.model_dump(mode="json") for result in self.results]
        left = [bullet.model_dump(mode="json") for bullet in self.left]
        line: dict[str, Any] = {"version": self.stored.version, "results": results}
        if self.passed_over is not None:
            line["passed_over"] = self.passed_over
        return {**line, "left": left} if left else line


class PlaybookService:
    """Manual edits of one playbook. Every method raises StoreError as the store does."""

    def __init__(
        self,
        store: PlaybookStore,
        scope: PlaybookScope,
        *,
        person: str,
        limits: Limits,
        clock: Clock,
    ) -> None:
        self.store = store
        self.scope = scope
        self._person = person
        self._limits = limits
        self._clock = clock

    @property
    def author(self) -> Author:
        """The person as author, with the current time."""
        return Author(self._person, self._clock.now())

    def context(self, *, by_person: bool = True) -> CurationContext:
        """The curation context; with `by_person` pins and contradictions do not hold changes."""
        return CurationContext(
            limits=self._limits,
            at=self._clock.now(),
            user=self._person,
            session="",
            turn=0,
            grounded=True,
            shared=self.scope.user is None,
            by_person=by_person,
            refine=room_maker(None),
        )

    async def apply(
        self, batch: DeltaBatch, *, expected_version: int | None = None
    ) -> PlaybookEdit:
        """Apply a batch, with the Curator's checks, to the current version.

        Raises ConflictError when `expected_version` is given and is not the current one.
        """
        context = self.context(by_person=False)
        return await self._commit(lambda now: curate(now, batch, context), expected_version)

    async def pin(
        self, bullet_id: str, *, pinned: bool = True, expected_version: int | None = None
    ) -> PlaybookEdit:
        """Pin or unpin a bullet. Raises NotFoundError if it is not live."""
        return await self.edit(bullet_id, pinned=pinned, expected_version=expected_version)

    async def edit(
        self,
        bullet_id: str,
        *,
        content: str | None = None,
        section: str | None = None,
        pinned: bool | None = None,
        expected_version: int | None = None,
    ) -> PlaybookEdit:
        """Reword, move, pin or unpin a bullet, pinned or not, in one commit.

        Raises NotFoundError for a bullet that is not live, saying why; InputError with the reason
        when the text is rejected or exceeds a budget.
        """
        await self._live(bullet_id)
        edit = Edit(content, section, pinned)
        check_edit(edit, self._limits)

        def change(now: Playbook) -> Curated:
            changed = edited(now, _required(now, bullet_id), edit, at=self._clock.now())
            check_budgets(now, changed.playbook, self._limits)
            records = [self._record(*step) for step in changed.steps]
            return Curated(changed.playbook, [], records)

        return await self._commit(change, expected_version)

    async def restore(self, bullet_id: str) -> PlaybookEdit:
        """Restore a bullet that was archived, removed or merged.

        Raises NotFoundError for an unknown id, InputError for a bullet that is live or exceeds a
        budget.
        """
        story = await self.story(bullet_id)
        if story.live is not None and story.live.id == story.bullet_id:
            raise InputError(f"bullet {story.bullet_id} is in the playbook; nothing to restore")
        left = removed(story)

        def change(now: Playbook) -> Curated:
            draft = now.draft()
            try:
                after = draft.restore(left)
            except PlaybookError as error:
                raise ConflictError(f"bullet {left.id} was restored meanwhile: {error}") from error
            changed = now.with_draft(draft)
            check_budgets(now, changed, self._limits)
            return Curated(changed, [], [self._record(DeltaKind.RESTORE, None, after)])

        return await self._commit(change, None)

    async def import_bullets(
        self, reading: Reading, *, expected_version: int | None = None, dry_run: bool = False
    ) -> PlaybookEdit:
        """Import the bullets of a file; each ends applied, held or rejected.

        `dry_run` changes nothing; the results are those of an import now. Raises InputError for
        more than MOST_IMPORTED, with nothing changed.
        """
        incoming = reading.playbook
        if len(incoming.bullets) > MOST_IMPORTED:
            raise InputError(
                f"{len(incoming.bullets):,} lessons; at most {MOST_IMPORTED:,} at once"
            )
        context = self.context(by_person=False)
        if dry_run:
            now = await self.store.load(self.scope)
            return PlaybookEdit(now, imported(now.playbook, incoming, context).results)
        edit = await self._commit(lambda now: imported(now, incoming, context), expected_version)
        return replace(edit, passed_over=reading.passed_over)

    async def held(self, *, limit: int = PAGE, before: int | None = None) -> Sequence[DeltaRecord]:
        """The operations pending review, newest first."""
        return await self.store.held(self.scope, limit=limit, before=before)

    async def approve(self, seq: int) -> PlaybookEdit:
        """Apply a held operation with a person's authority.

        Raises NotFoundError for one that is not held, InputError with the reason code when it
        still cannot be applied; it then stays held.
        """
        waiting = await self._waiting(seq)
        if waiting.operation is None:
            raise InputError(f"held operation {seq} was stored without the data needed to apply it")
        batch = DeltaBatch(operations=[waiting.operation])
        context = self.context()

        def change(now: Playbook) -> Curated:
            curated = curate(now, batch, context)
            (result,) = curated.results
            if result.status is not DeltaStatus.APPLIED:
                raise InputError(f"held operation {seq} cannot be applied: {result.reason}")
            return replace(curated, records=_resolving(curated.records, seq))

        return await self._commit(change, None)

    async def dismiss(self, seq: int) -> PlaybookEdit:
        """Dismiss a held operation. Raises NotFoundError for one that is not held."""
        waiting = await self._waiting(seq)
        verdict = rejected("dismissed")
        context = replace(self.context(), resolves=seq)

        def change(now: Playbook) -> Curated:
            record = DeltaRecord(
                kind=waiting.kind, bullet_id=waiting.bullet_id, **context.stamp(verdict)
            )
            return Curated(now, [], [record])

        return await self._commit(change, None)

    async def rollback(self, version: int, *, expected_version: int | None = None) -> PlaybookEdit:
        """Roll back to the content of a version. Raises NotFoundError for an unknown one."""
        async for is_last in swap_tries():
            current = (await self.store.load(self.scope)).version
            expected = current if expected_version is None else expected_version
            try:
                stored = await self.store.rollback(
                    self.scope, version, expected_version=expected, by=self.author
                )
            except ConflictError:
                if expected_version is not None or is_last:
                    raise
                continue
            return PlaybookEdit(stored, [])
        raise AssertionError("unreachable: the last try returns or raises")

    async def diff(self, first: int, second: int) -> PlaybookDiff:
        """The diff of two versions. Raises NotFoundError for an unknown one."""
        before = await self.store.load(self.scope, version=first)
        after = await self.store.load(self.scope, version=second)
        return diff_playbooks(before.playbook, after.playbook)

    async def search(self, text: str, *, limit: int = 20) -> list[Hit]:
        """The bullets that match a text best, at most `limit`."""
        return search_bullets((await self.store.load(self.scope)).playbook, text, limit=limit)

    async def story(self, bullet_id: str) -> BulletHistory:
        """A bullet's history and its live successor. Raises NotFoundError."""
        wanted = clean_id(bullet_id)
        records: list[DeltaRecord] = []
        before: int | None = None
        complete = True
        while page := await self.store.history(self.scope, wanted, limit=PAGE, before=before):
            records += page
            before = page[-1].seq
            if len(records) >= _MOST_RECORDS:
                complete = False
                break
        playbook = (await self.store.load(self.scope)).playbook
        if not any(record.status is DeltaStatus.APPLIED for record in records):
            raise unknown_bullet(playbook, wanted)
        successor = await self.store.resolve(self.scope, wanted)
        live = None if successor is None else playbook.get(successor)
        return BulletHistory(wanted, live, records, complete)

    async def _waiting(self, seq: int) -> DeltaRecord:
        """The held record of a seq, however old. Raises NotFoundError."""
        # Larger numbers cannot exist and would overflow the database's integer type.
        known = 0 < seq <= _MOST_SEQ
        page = await self.store.held(self.scope, limit=1, before=seq + 1) if known else []
        if not page or page[0].seq != seq:
            raise NotFoundError(f"no held operation {seq} is pending review")
        return page[0]

    async def _live(self, bullet_id: str) -> None:
        """Raise NotFoundError, saying why, unless the bullet is live."""
        playbook = (await self.store.load(self.scope)).playbook
        if playbook.get(bullet_id) is not None:
            return
        story = await self.story(bullet_id)
        raise NotFoundError(why_not_live(story))

    def _record(self, kind: DeltaKind, before: Bullet | None, after: Bullet) -> DeltaRecord:
        stamp = self.context().stamp(OK)
        return DeltaRecord(kind=kind, bullet_id=after.id, before=before, after=after, **stamp)

    async def _commit(self, change: Change, expected_version: int | None) -> PlaybookEdit:
        async for is_last in swap_tries():
            current = await self.store.load(self.scope)
            if expected_version is not None and current.version != expected_version:
                raise ConflictError(
                    f"the playbook is at version {current.version}, not {expected_version}; "
                    "review the changes and try again"
                )
            # An import of thousands takes seconds; do not block the event loop.
            curated = await asyncio.to_thread(change, current.playbook)
            if not curated.records:
                return PlaybookEdit(current, curated.results)
            try:
                stored = await self.store.commit(
                    self.scope,
                    curated.playbook,
                    curated.records,
                    expected_version=current.version,
                )
            except ConflictError:
                if is_last:
                    raise
                continue
            return PlaybookEdit(stored, curated.results, curated.departures)
        raise AssertionError("unreachable: the last try returns or raises")


def _required(playbook: Playbook, bullet_id: str) -> Bullet:
    bullet = playbook.get(bullet_id)
    if bullet is None:
        raise unknown_bullet(playbook, clean_id(bullet_id))
    return bullet


def _resolving(records: Sequence[DeltaRecord], seq: int) -> list[DeltaRecord]:
    """Mark the last record as the decision on the held one, so that it is made only once."""
    return [*records[:-1], records[-1].model_copy(update={"resolves": seq})]
