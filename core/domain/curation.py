"""Decide which operations a playbook takes: the guard between the Curator and the store.

Each operation ends as applied, held (kept in the log for a person to decide) or rejected, with a
reason code. Operations are judged one after the other, so a bad one never takes the good ones
with it. The records that come out are the delta log; replayed from empty they give the playbook.

    unknown_id            UPDATE, REMOVE or a tag names no bullet              rejected
    id_exists             ADD names a bullet that exists                       rejected
    empty                 there is no text                                     rejected
    too_long              the text exceeds `limits.bullet_tokens`              rejected
    duplicate             another bullet, of any section, says the same        rejected
    secret, pii           the text holds a credential or personal data         rejected
    unreadable            it is none of ADD, UPDATE and REMOVE                 rejected
    instruction_like      the text speaks to the model over the product        rejected
    too_many_operations   beyond `limits.delta_operations`                     rejected
    not_used, tagged      the bullet was not used, or is tagged, in this turn  rejected
    over_budget           the playbook holds `limits.playbook_bullets`         held
    ungrounded            the lesson rests on tool or retrieved text alone     held
    removes_too_much      the batch removes over half of four or more bullets  held
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from core.domain.bullet_screening import objection
from core.domain.curation_record import (
    OK,
    CurationContext,
    Verdict,
    held,
    record_of,
    rejected,
    result_of,
)
from core.domain.fingerprint import fingerprint
from core.domain.redaction import redact
from core.domain.tokens import clip_tokens
from schemas.bullet import Bullet, clean_id, clean_section, is_bullet_id, one_line
from schemas.delta import UNREADABLE, DeltaBatch, DeltaKind, DeltaOperation, DeltaResult, DeltaType
from schemas.playbook import DeltaRecord, Playbook
from schemas.reflection import BulletTag

__all__ = ["Curated", "CurationContext", "curate", "tag"]

FEW_BULLETS = 4
"""A playbook with fewer bullets may be emptied by one batch."""


@dataclass(frozen=True)
class Curated:
    """A playbook after curation, how each operation ended, and the rows for the delta log."""

    playbook: Playbook
    results: list[DeltaResult]
    records: list[DeltaRecord]


def curate(playbook: Playbook, batch: DeltaBatch, context: CurationContext) -> Curated:
    """Apply what a batch may change and say how each operation ended. Never raises."""
    ledger = _Ledger(playbook, context)
    too_many = rejected("too_many_operations")
    removals_held = _removes_too_much(playbook, batch.operations[: context.limits.delta_operations])
    for position, operation in enumerate(batch.operations):
        if position >= context.limits.delta_operations:
            ledger.refuse(operation, too_many)
        elif removals_held and operation.type is DeltaType.REMOVE:
            ledger.remove(operation, held("removes_too_much"))
        else:
            ledger.take(operation)
    for text in batch.unreadable[: context.limits.delta_operations]:
        ledger.refuse_unreadable(text)
    return ledger.curated()


def tag(
    playbook: Playbook,
    tags: Sequence[BulletTag],
    used_ids: Collection[str],
    context: CurationContext,
) -> Curated:
    """Count tags of bullets that this turn used, one for each bullet; reject the others.

    The results hold one entry for each tag, of type UPDATE; the records are of kind TAG.
    """
    draft = playbook.draft()
    used = {clean_id(bullet_id) for bullet_id in used_ids}
    tagged: set[str] = set()
    results: list[DeltaResult] = []
    records: list[DeltaRecord] = []
    for item in tags:
        bullet_id = clean_id(item.id)
        before = draft.get(bullet_id)
        verdict = _judge_tag(bullet_id, before, used, tagged)
        after = before
        if verdict is OK:
            after = draft.tag(bullet_id, item.tag, increment=1, at=context.at)
            tagged.add(bullet_id)
        named = bullet_id if is_bullet_id(bullet_id) else None
        results.append(result_of(DeltaType.UPDATE, named, verdict))
        records.append(
            record_of(DeltaKind.TAG, named, verdict, context, before=before, after=after)
        )
    return Curated(playbook.with_draft(draft), results, records)


class _Ledger:
    """Takes operations one by one and keeps the books."""

    def __init__(self, playbook: Playbook, context: CurationContext) -> None:
        self._playbook = playbook
        self._draft = playbook.draft()
        self._context = context
        self._said = {fingerprint(bullet.content): bullet.id for bullet in playbook.bullets}
        self._results: list[DeltaResult] = []
        self._records: list[DeltaRecord] = []

    def curated(self) -> Curated:
        """Everything so far."""
        return Curated(self._playbook.with_draft(self._draft), self._results, self._records)

    def take(self, operation: DeltaOperation) -> None:
        """Judge an operation and apply it when nothing speaks against it."""
        match operation.type:
            case DeltaType.ADD:
                self._add(operation)
            case DeltaType.UPDATE:
                self._update(operation)
            case DeltaType.REMOVE:
                self.remove(operation)
            case DeltaType.MERGE:
                self.refuse(operation, rejected("unreadable"))

    def refuse(self, operation: DeltaOperation, verdict: Verdict) -> None:
        """Write down an operation that is not applied."""
        bullet_id = clean_id(operation.bullet_id or "")
        # What is no id may be anything, so it is not written down.
        named = bullet_id if is_bullet_id(bullet_id) else None
        self._note(operation, named, verdict, before=self._known(operation))

    def refuse_unreadable(self, text: str) -> None:
        """Write down what is no operation."""
        verdict = rejected("unreadable")
        self._results.append(result_of(UNREADABLE, None, verdict))
        self._records.append(
            record_of(
                DeltaKind.UNREADABLE,
                None,
                verdict,
                self._context,
                before=None,
                after=None,
                proposed=self._shown(text),
            )
        )

    def remove(self, operation: DeltaOperation, verdict: Verdict = OK) -> None:
        """Remove a bullet, or hold the removal."""
        before = self._known(operation)
        if before is None:
            self.refuse(operation, rejected("unknown_id"))
        elif verdict is not OK:
            self.refuse(operation, verdict)
        elif not self._context.grounded:
            self.refuse(operation, held("ungrounded"))
        else:
            self._draft.remove(before.id)
            self._forget(before)
            self._note(operation, before.id, OK, before=before)

    def _add(self, operation: DeltaOperation) -> None:
        text = one_line(operation.content or "")
        verdict = self._judge(operation, text, own_id=None)
        if self._known(operation) is not None:
            verdict = rejected("id_exists")
        elif verdict is OK and len(self._draft) >= self._context.limits.playbook_bullets:
            verdict = held("over_budget")
        if verdict is not OK:
            self.refuse(operation, verdict)
            return
        # The counter names it: a model must not choose ids, or it could reuse one.
        bullet = self._draft.add(operation.section, text, bullet_id=None, at=self._context.at)
        self._said[fingerprint(bullet.content)] = bullet.id
        self._note(operation, bullet.id, OK, after=bullet)

    def _update(self, operation: DeltaOperation) -> None:
        before = self._known(operation)
        if before is None:
            self.refuse(operation, rejected("unknown_id"))
            return
        text = one_line(operation.content or "")
        verdict = self._judge(operation, text, own_id=before.id)
        if verdict is not OK:
            self.refuse(operation, verdict)
            return
        self._forget(before)
        after = self._draft.update(
            before.id, content=text, section=operation.section, at=self._context.at
        )
        self._said[fingerprint(text)] = after.id
        self._note(operation, after.id, OK, before=before, after=after)

    def _judge(self, operation: DeltaOperation, text: str, *, own_id: str | None) -> Verdict:
        budget = self._context.limits.bullet_tokens
        reason = objection(text, max_tokens=budget)
        section = clean_section(operation.section)
        if reason is None and section:
            # A heading stands in the prompt as the text does, so it is screened as the text is.
            reason = objection(section, max_tokens=budget)
        if reason is not None:
            return rejected(reason)
        if self._said.get(fingerprint(text), own_id) != own_id:
            return rejected("duplicate")
        return OK if self._context.grounded else held("ungrounded")

    def _known(self, operation: DeltaOperation) -> Bullet | None:
        return self._draft.get(operation.bullet_id or "")

    def _forget(self, bullet: Bullet) -> None:
        mark = fingerprint(bullet.content)
        if self._said.get(mark) == bullet.id:
            del self._said[mark]

    def _note(
        self,
        operation: DeltaOperation,
        bullet_id: str | None,
        verdict: Verdict,
        *,
        before: Bullet | None = None,
        after: Bullet | None = None,
    ) -> None:
        self._results.append(result_of(operation.type, bullet_id, verdict))
        proposed = None if verdict is OK else self._shown(operation.content)
        self._records.append(
            record_of(
                DeltaKind(operation.type),
                bullet_id,
                verdict,
                self._context,
                before=before,
                after=after if verdict is OK else before,
                proposed=proposed,
            )
        )

    def _shown(self, content: str | None) -> str | None:
        """What was proposed, fit for a log: one line, redacted, bounded."""
        if content is None:
            return None
        return clip_tokens(redact(one_line(content)), 2 * self._context.limits.bullet_tokens)


def _removes_too_much(playbook: Playbook, operations: Sequence[DeltaOperation]) -> bool:
    """Whether a batch would take more than half of a playbook that has four bullets or more."""
    named = {
        clean_id(operation.bullet_id or "")
        for operation in operations
        if operation.type is DeltaType.REMOVE
    }
    removed = sum(bullet.id in named for bullet in playbook.bullets)
    return len(playbook.bullets) >= FEW_BULLETS and 2 * removed > len(playbook.bullets)


def _judge_tag(
    bullet_id: str, bullet: Bullet | None, used: Collection[str], tagged: Collection[str]
) -> Verdict:
    if bullet is None:
        return rejected("unknown_id")
    if bullet_id not in used:
        return rejected("not_used")
    return rejected("tagged") if bullet_id in tagged else OK
