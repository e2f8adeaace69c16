"""Judge the operations of a batch one by one: may it be, must a person decide, or never.

What is wrong with the text itself comes first, so that nothing is held which no one may apply.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from acc_ace.errors import PlaybookError
from acc_ace.playbook.bullet_screening import rejection_reason
from acc_ace.playbook.curation.curation_record import (
    OK,
    CurationContext,
    Verdict,
    applied,
    held,
    named_to_leave,
    rejected,
)
from acc_ace.playbook.curation.delta_applier import DeltaApplier
from acc_ace.playbook.provenance import Wording
from acc_ace.playbook.sharing_gate import Generalised, generalise
from acc_ace.schemas.bullet import DEFAULT_SECTION, Bullet, clean_section, one_line
from acc_ace.schemas.delta import MOST_SOURCES, DeltaOperation, DeltaStatus, DeltaType
from acc_ace.text.duplicates import lesson_of, same
from acc_ace.text.normalize import visible
from acc_ace.text.rules.lifting import speaks_of_lifting

HEADING_CHARACTERS = 1_024
"""Of a section's name that are looked at; what is kept is shorter."""

FEW_BULLETS = 4
"""A playbook with fewer bullets may be emptied by one batch."""


class _Text(NamedTuple):
    """The words of an operation as they may stand in the playbook, and the verdict on them."""

    content: str
    section: str
    verdict: Verdict


class DeltaValidator:
    """Takes operations one by one into a ledger."""

    def __init__(
        self,
        ledger: DeltaApplier,
        context: CurationContext,
        bullets: Sequence[Bullet],
        operations: Sequence[DeltaOperation],
    ) -> None:
        self._ledger = ledger
        self._context = context
        self._leaving = named_to_leave(bullets, operations)
        self._most_leaving = (
            len(bullets) // 2
            if len(bullets) >= FEW_BULLETS and not context.by_person
            else len(bullets)
        )
        self._removals_held = len(self._leaving) > self._most_leaving
        self._has_made_room = False
        self._is_crowded = False

    def check(self, operation: DeltaOperation) -> None:
        """Judge an operation, and apply it when nothing speaks against it."""
        self._has_made_room = False
        self._judge(operation)

    def _judge(self, operation: DeltaOperation) -> None:
        match operation.type:
            case DeltaType.ADD:
                self._add(operation)
            case DeltaType.UPDATE:
                self._update(operation)
            case DeltaType.REMOVE:
                self._remove(operation)
            case DeltaType.MERGE:
                self._merge(operation)

    def _add(self, operation: DeltaOperation) -> None:
        text = self._text(operation)
        verdict = text.verdict
        if self._ledger.bullet(operation.bullet_id) is not None:
            verdict = rejected("id_exists")
        if _stands(verdict):
            same = self._same(text.content)
            if same is not None:
                # Learnt again, which says nothing of whether it helps.
                self._ledger.confirm(operation, same, "neutral", applied("duplicate"))
                return
            verdict = self._clash(text.content) or verdict
        section = text.section or DEFAULT_SECTION
        if _stands(verdict) and not self._ledger.lessons.has_room(
            section, text.content, self._context.limits
        ):
            self._make_room_for(operation)
        elif _stands(verdict):
            self._ledger.add(operation, text.content, section, verdict)
        else:
            self._ledger.refuse(operation, verdict)

    def _make_room_for(self, operation: DeltaOperation) -> None:
        """Refine once for an operation and judge it again; hold it when that is no help."""
        named = [name for name in (operation.bullet_id, *operation.source_ids) if name]
        there = [name for name in named if self._ledger.bullet(name) is not None]
        refined = False
        if not (self._has_made_room or self._is_crowded):
            refined = self._has_made_room = self._ledger.refine()
            # What could not be made room for once is full of what must stay.
            self._is_crowded = not refined
        # The bullet that it would change may be the one that had to leave; its words are kept.
        if refined and all(map(self._ledger.bullet, there)):
            self._judge(operation)
        else:
            self._ledger.refuse(operation, held("over_budget"))

    def _update(self, operation: DeltaOperation) -> None:
        before = self._ledger.bullet(operation.bullet_id)
        if before is None:
            self._ledger.refuse(operation, rejected("unknown_id"))
            return
        text = self._text(operation)
        verdict = text.verdict
        if _stands(verdict):
            verdict = self._pin(before) or verdict
        if _stands(verdict):
            same = self._same(text.content, before.id)
            if same is not None:
                self._take_into(operation, before, same)
                return
            verdict = self._clash(text.content, before.id) or verdict
        section = text.section or before.section
        if _stands(verdict) and not self._ledger.lessons.has_room(
            section, text.content, self._context.limits, leaving=(before,)
        ):
            self._make_room_for(operation)
        elif _stands(verdict):
            self._ledger.update(operation, before, text.content, section, verdict)
        else:
            self._ledger.refuse(operation, verdict)

    def _take_into(self, operation: DeltaOperation, before: Bullet, same: Bullet) -> None:
        """A bullet that is reworded into another one is merged into it."""
        verdict = self._pin(same)
        if verdict is None and len(self._leaving | {before.id}) > self._most_leaving:
            verdict = held("removes_too_much")
        if verdict is not None:
            self._ledger.refuse(operation, verdict)
            return
        self._leaving |= {before.id}
        self._ledger.merge(operation, same, (before,), applied("duplicate"))

    def _remove(self, operation: DeltaOperation) -> None:
        before = self._ledger.bullet(operation.bullet_id)
        verdict = rejected("unknown_id") if before is None else self._departure(before)
        if before is None or verdict is not None:
            self._ledger.refuse(operation, verdict or rejected("unknown_id"))
        else:
            self._ledger.remove(operation, before)

    def _merge(self, operation: DeltaOperation) -> None:
        merging = operation.merging
        survivor = self._ledger.bullet(merging.survivor)
        if len(merging.sources) > MOST_SOURCES:
            self._ledger.refuse(operation, rejected("too_many_sources"))
        elif survivor is None:
            self._ledger.refuse(operation, rejected("unknown_id"))
        else:
            self._merge_into(operation, survivor, merging.sources)

    def _merge_into(
        self, operation: DeltaOperation, survivor: Bullet, source_ids: Sequence[str]
    ) -> None:
        try:
            group = (survivor, *self._ledger.sources(survivor, source_ids))
        except PlaybookError as error:
            self._ledger.refuse(operation, rejected(str(error)))
            return
        text = self._text(operation, required=operation.content is not None)
        section = text.section or survivor.section
        verdict = text.verdict
        if _stands(verdict) and text.content:
            ids = [bullet.id for bullet in group]
            if self._same(text.content, *ids) is not None:
                verdict = rejected("duplicate")
            else:
                verdict = self._clash(text.content, *ids) or verdict
        if _stands(verdict):
            verdict = self._group_verdict(group, text.content) or verdict
        if _stands(verdict) and not self._ledger.lessons.has_room(
            section, text.content or survivor.content, self._context.limits, leaving=group
        ):
            self._make_room_for(operation)
        elif _stands(verdict):
            words = text.content or None
            self._ledger.merge(operation, survivor, group[1:], verdict, text=words, section=section)
        else:
            self._ledger.refuse(operation, verdict)

    def _group_verdict(self, group: Sequence[Bullet], text: str) -> Verdict | None:
        """Whether bullets must not become one: pinned, too many, or something would be lost."""
        leaving = next(filter(None, map(self._departure, group)), None)
        if leaving is not None or self._context.by_person:
            return leaving
        ids = {bullet.id for bullet in group}
        if any(ids.intersection(self._ledger.lessons.contrary(b.content)) for b in group):
            return held("contradiction")
        kept = lesson_of(text or group[0].content)
        lost = not all(same(kept, lesson_of(bullet.content)) for bullet in group)
        return held("differs") if lost else None

    def _departure(self, bullet: Bullet) -> Verdict | None:
        """Why a bullet must not leave, or None."""
        if not self._trusted:
            return held("ungrounded")
        return self._pin(bullet) or (held("removes_too_much") if self._removals_held else None)

    def _pin(self, bullet: Bullet) -> Verdict | None:
        return held("pinned") if bullet.pinned and not self._context.by_person else None

    def _same(self, text: str, *apart_from: str) -> Bullet | None:
        return self._ledger.bullet(self._ledger.lessons.same(text, apart_from=apart_from))

    def _clash(self, text: str, *apart_from: str) -> Verdict | None:
        """Whether a text says the contrary of another bullet, or may repeat one."""
        if self._context.by_person:
            return None
        contrary = self._ledger.lessons.contrary(text, apart_from=apart_from)
        if not contrary:
            alike = self._ledger.lessons.alike(text, apart_from=apart_from)
            return held("possible_duplicate") if alike else None
        bullets = [self._ledger.bullet(bullet_id) for bullet_id in contrary]
        pinned = any(bullet is not None and bullet.pinned for bullet in bullets)
        return held("contradiction_pinned" if pinned else "contradiction")

    def _text(self, operation: DeltaOperation, *, required: bool = True) -> _Text:
        """Content and section of an operation, generalised where they are shared, and judged."""
        # What a renderer leaves out must not split a name or a secret in two.
        content, verdict = one_line(visible(operation.content or "")), OK
        section = one_line(visible(operation.section[:HEADING_CHARACTERS]))
        # Whose words they are is asked before anything is rewritten.
        doubt = self._doubt(content, section)
        if required:
            content, verdict = self._screened(content, self._context.limits.bullet_tokens)
        if _stands(verdict) and clean_section(section):
            # A heading stands in the prompt as the text does, so it is screened as the text is;
            # before it is cut, since half a secret is not known as one.
            section, heading = self._screened(section, HEADING_CHARACTERS)
            verdict = verdict if heading is OK else heading
        if _stands(verdict):
            verdict = doubt or verdict
        return _Text(content, clean_section(section), verdict)

    def _doubt(self, content: str, section: str) -> Verdict | None:
        """Why a lesson is not what the user or the agent has learnt, or None."""
        if self._context.by_person:
            return None
        said = [text for text in (content, section) if text]
        if any(self._foreign.repeats(text, self._vouched) for text in said):
            return rejected("foreign_words")
        if not self._trusted or any(self._untrusted.repeats(text, self._vouched) for text in said):
            return held("ungrounded")
        if any(map(speaks_of_lifting, said)):
            return held("lifts_rules")
        against = self._context.rule_objection
        reasons = (against(text) for text in said) if against else ()
        return next((held(reason) for reason in reasons if reason), None)

    @cached_property
    def _foreign(self) -> Wording:
        return Wording(self._context.foreign)

    @cached_property
    def _untrusted(self) -> Wording:
        return Wording(self._context.untrusted)

    @cached_property
    def _vouched(self) -> Wording:
        return Wording(self._context.vouched)

    def _screened(self, text: str, limit: int) -> tuple[str, Verdict]:
        """A text of at most `limit` tokens as it may stand in the playbook, and the verdict."""
        said = Generalised(text, changed=False, stopped=False)
        if self._context.shared and rejection_reason(text, max_tokens=limit) != "too_long":
            said = generalise(text, self._context.entities, user=self._context.user)
        reason = rejection_reason(said.text, max_tokens=limit)
        if reason is not None:
            return said.text, rejected(reason)
        if said.stopped:
            return said.text, held("personal")
        return said.text, applied("generalised") if said.changed else OK

    @property
    def _trusted(self) -> bool:
        """Whether a lesson rests on more than text of tools, or a person vouches for it."""
        return self._context.grounded or self._context.by_person


def _stands(verdict: Verdict) -> bool:
    return verdict.status is DeltaStatus.APPLIED
