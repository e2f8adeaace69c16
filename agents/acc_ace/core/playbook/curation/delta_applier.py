"""Apply validated operations to a draft; collect results and delta records."""

from collections.abc import Iterable, Sequence

from acc_ace.core.playbook.curation.curation_record import (
    OK,
    Curated,
    CurationContext,
    Verdict,
    record_of,
    result_of,
)
from acc_ace.core.playbook.lesson_index import LessonIndex
from acc_ace.core.playbook.sharing_gate import mask_names
from acc_ace.core.schemas.bullet import Bullet, clean_id, clean_section, is_bullet_id, one_line
from acc_ace.core.schemas.delta import (
    MOST_SOURCES,
    UNREADABLE,
    DeltaKind,
    DeltaOperation,
    DeltaResult,
    DeltaStatus,
)
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook
from acc_ace.core.schemas.reflection import Tag
from acc_ace.core.text.normalize import skeleton, visible
from acc_ace.core.text.redaction import find_sensitive, redact
from acc_ace.core.text.tokens import clip_tokens


class DeltaApplier:
    """Unit of work of one batch: changes a draft and logs every operation."""

    def __init__(self, playbook: Playbook, context: CurationContext) -> None:
        self._playbook = playbook
        self._draft = playbook.draft()
        self._context = context
        self._origin = context.origin
        self._lessons: LessonIndex | None = None
        self._results: list[DeltaResult] = []
        self._records: list[DeltaRecord] = []

    @property
    def lessons(self) -> LessonIndex:
        """The index of the draft's lessons; built on first use."""
        if self._lessons is None:
            self._lessons = LessonIndex(self._draft.bullets)
        return self._lessons

    def curated(self) -> Curated:
        """The draft, results and records so far."""
        return Curated(self._playbook.with_draft(self._draft), self._results, self._records)

    def bullet(self, bullet_id: str | None) -> Bullet | None:
        """The bullet with an id, in any spelling of a model's, or None."""
        return self._draft.get(bullet_id or "")

    def sources(self, survivor: Bullet, source_ids: Iterable[str]) -> tuple[Bullet, ...]:
        """The source bullets of a merge; raises PlaybookError as the draft does."""
        return self._draft.sources(survivor, source_ids)

    def add(self, operation: DeltaOperation, text: str, section: str, verdict: Verdict) -> None:
        """Add a bullet; its id comes from the counter, not from the model."""
        bullet = self._draft.add(
            section, text, bullet_id=None, at=self._context.at, origin=self._origin
        )
        self._restate((), bullet)
        self._note(operation, bullet.id, verdict)
        self._log(operation, DeltaKind.ADD, bullet.id, verdict, after=bullet)

    def update(
        self, operation: DeltaOperation, before: Bullet, text: str, section: str, verdict: Verdict
    ) -> None:
        """Reword a bullet."""
        after = self._draft.update(
            before.id, content=text, section=section, at=self._context.at, origin=self._origin
        )
        self._restate((before,), after)
        self._note(operation, after.id, verdict)
        self._log(operation, DeltaKind.UPDATE, after.id, verdict, before=before, after=after)

    def remove(self, operation: DeltaOperation, before: Bullet) -> None:
        """Remove a bullet."""
        self._draft.remove(before.id)
        self._restate((before,), None)
        self._note(operation, before.id, OK)
        self._log(operation, DeltaKind.REMOVE, before.id, OK, before=before)

    def merge(
        self,
        operation: DeltaOperation,
        survivor: Bullet,
        sources: Sequence[Bullet],
        verdict: Verdict,
        *,
        text: str | None = None,
        section: str = "",
    ) -> None:
        """Merge bullets into one; each is logged, so that old ids resolve to the survivor."""
        after = self._draft.merge(
            survivor.id,
            [bullet.id for bullet in sources],
            content=text,
            section=section,
            at=self._context.at,
            origin=None if text is None else self._origin,
        )
        self._restate((survivor, *sources), after)
        self._note(operation, after.id, verdict)
        self._log(operation, DeltaKind.MERGE, after.id, verdict, before=survivor, after=after)
        for bullet in sources:
            self._log(
                operation, DeltaKind.MERGE, bullet.id, verdict, before=bullet, merged_into=after.id
            )

    def confirm(self, operation: DeltaOperation, bullet: Bullet, tag: Tag, reason: Verdict) -> None:
        """Count a tag on the bullet that an operation would duplicate."""
        after = self._draft.tag(bullet.id, tag, increment=1, at=self._context.at)
        self._note(operation, bullet.id, reason)
        self._log(
            operation,
            DeltaKind.TAG,
            bullet.id,
            reason,
            before=bullet,
            after=after,
            proposed=self._shown(operation.content),
        )

    def refuse(self, operation: DeltaOperation, verdict: Verdict) -> None:
        """Log an operation that is not applied; a held one with the data to apply it later."""
        bullet_id = clean_id(operation.bullet_id or "")
        # An invalid id may be arbitrary text, so it is not logged.
        named = bullet_id if is_bullet_id(bullet_id) else None
        known = self.bullet(operation.bullet_id)
        self._note(operation, named, verdict)
        self._log(
            operation,
            DeltaKind(operation.type),
            named,
            verdict,
            before=known,
            after=known,
            proposed=self._shown(operation.content),
            operation=(
                self._loggable(operation, named) if verdict.status is DeltaStatus.HELD else None
            ),
        )

    def refuse_unreadable(self, text: str, verdict: Verdict) -> None:
        """Log an unreadable operation."""
        self._results.append(result_of(UNREADABLE, None, verdict))
        self._log(None, DeltaKind.UNREADABLE, None, verdict, proposed=self._shown(text))

    def refuse_rest(self, operations: Sequence[DeltaOperation], verdict: Verdict) -> None:
        """Refuse many operations with one record, to bound the log."""
        for operation in operations:
            self._note(operation, None, verdict)
        if operations:
            shown = f"{len(operations)} more operations"
            self._log(None, DeltaKind.UNREADABLE, None, verdict, proposed=shown)

    def refine(self) -> bool:
        """Call the refiner to make room; True if it changed anything."""
        if self._context.refine is None:
            return False
        refined = self._context.refine(self._playbook.with_draft(self._draft), self._context)
        if not any(record.status is DeltaStatus.APPLIED for record in refined.records):
            return False
        self._draft = refined.playbook.draft()
        self._records += refined.records
        self._lessons = None
        return True

    def _restate(self, before: Iterable[Bullet], after: Bullet | None) -> None:
        """Update the lesson index after a change of the draft."""
        if self._lessons is None:
            return
        for bullet in before:
            self._lessons.discard(bullet)
        if after is not None:
            self._lessons.add(after)

    def _note(self, operation: DeltaOperation, bullet_id: str | None, verdict: Verdict) -> None:
        self._results.append(result_of(operation.type, bullet_id, verdict))

    def _log(
        self,
        by: DeltaOperation | None,
        kind: DeltaKind,
        bullet_id: str | None,
        verdict: Verdict,
        *,
        before: Bullet | None = None,
        after: Bullet | None = None,
        merged_into: str | None = None,
        proposed: str | None = None,
        operation: DeltaOperation | None = None,
    ) -> None:
        record = record_of(
            kind,
            bullet_id,
            verdict,
            self._context,
            before=before,
            after=after,
            merged_into=merged_into,
            proposed=proposed,
            operation=operation,
        )
        if by is not None:
            why = {"rationale": self._shown(by.rationale), "priority": by.priority}
            record = record.model_copy(update=why)
        self._records.append(record)

    def _loggable(self, operation: DeltaOperation, named: str | None) -> DeltaOperation:
        """A held operation, redacted and bounded for the log."""
        source_ids = [clean_id(source) for source in operation.source_ids[:MOST_SOURCES]]
        return DeltaOperation(
            type=operation.type,
            section=clean_section(self._shown(operation.section) or ""),
            content=self._shown(operation.content),
            bullet_id=named,
            source_ids=[source for source in source_ids if is_bullet_id(source)],
            rationale=self._shown(operation.rationale) or "",
            priority=operation.priority,
        )

    def _shown(self, text: str | None) -> str | None:
        """Text for the log: one line, redacted, bounded."""
        if text is None:
            return None
        shown = _redacted(one_line(visible(text)))
        if self._context.shared:
            shown = mask_names(shown, self._context.entities, user=self._context.user)
        return clip_tokens(shown, 2 * self._context.limits.bullet_tokens)


def _redacted(text: str) -> str:
    """The text without secrets and personal data, disguised ones included."""
    seen = skeleton(text)
    disguised = seen != text and len(find_sensitive(seen)) > len(find_sensitive(text))
    return redact(seen if disguised else text)
