"""Validate the operations of a batch one by one: apply, hold for review, or reject.

The text itself is checked first, so that no operation is held that could never be applied.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from acc_ace.core.playbook.bullet_screening import rejection_reason
from acc_ace.core.playbook.curation.curation_record import (
    OK,
    CurationContext,
    Verdict,
    applied,
    held,
    ids_to_remove,
    rejected,
)
from acc_ace.core.playbook.curation.delta_applier import DeltaApplier
from acc_ace.core.playbook.provenance import Wording
from acc_ace.core.playbook.sharing_gate import Generalised, generalise
from acc_ace.core.schemas.bullet import DEFAULT_SECTION, Bullet, clean_section, one_line
from acc_ace.core.schemas.delta import MOST_SOURCES, DeltaOperation, DeltaStatus, DeltaType
from acc_ace.core.text.duplicates import lesson_of, same
from acc_ace.core.text.normalize import visible
from acc_ace.core.text.rules.lifting import speaks_of_lifting
from acc_ace.errors import PlaybookError

HEADING_CHARACTERS = 1_024
"""Maximum characters screened of a section's name; the stored name is shorter."""

FEW_BULLETS = 4
"""A playbook with fewer bullets may be emptied by one batch."""


class _Text(NamedTuple):
    """The screened content and section of an operation, with the verdict."""

    content: str
    section: str
    verdict: Verdict


class DeltaValidator:
    """Validates operations one by one and passes each to the DeltaApplier."""

    def __init__(
        self,
        ledger: DeltaApplier,
        context: CurationContext,
        bullets: Sequence[Bullet],
        operations: Sequence[DeltaOperation],
    ) -> None:
        self._applier = ledger
        self._context = context
        self._leaving = ids_to_remove(bullets, operations)
        self._most_leaving = (
            len(bullets) // 2
            if len(bullets) >= FEW_BULLETS and not context.by_person
            else len(bullets)
        )
        self._removals_held = len(self._leaving) > self._most_leaving
        self._has_made_room = False
        self._is_crowded = False

    def check(self, operation: DeltaOperation) -> None:
        """Validate an operation; apply it or refuse it."""
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
        if self._applier.bullet(operation.bullet_id) is not None:
            verdict = rejected("id_exists")
        if _accepted(verdict):
            same = self._same(text.content)
            if same is not None:
                # Learning it again is no evidence that it helps.
                self._applier.confirm(operation, same, "neutral", applied("duplicate"))
                return
            verdict = self._clash(text.content) or verdict
        section = text.section or DEFAULT_SECTION
        if _accepted(verdict) and not self._applier.lessons.has_room(
            section, text.content, self._context.limits
        ):
            self._make_room_for(operation)
        elif _accepted(verdict):
            self._applier.add(operation, text.content, section, verdict)
        else:
            self._applier.refuse(operation, verdict)

    def _make_room_for(self, operation: DeltaOperation) -> None:
        """Refine once and validate the operation again; hold it if there is still no room."""
        named = [name for name in (operation.bullet_id, *operation.source_ids) if name]
        there = [name for name in named if self._applier.bullet(name) is not None]
        refined = False
        if not (self._has_made_room or self._is_crowded):
            refined = self._has_made_room = self._applier.refine()
            # If refining freed nothing, trying again in this batch would not either.
            self._is_crowded = not refined
        # Refining may have archived the very bullet to change; then the operation is held.
        if refined and all(map(self._applier.bullet, there)):
            self._judge(operation)
        else:
            self._applier.refuse(operation, held("over_budget"))

    def _update(self, operation: DeltaOperation) -> None:
        before = self._applier.bullet(operation.bullet_id)
        if before is None:
            self._applier.refuse(operation, rejected("unknown_id"))
            return
        text = self._text(operation)
        verdict = text.verdict
        if _accepted(verdict):
            verdict = self._pin(before) or verdict
        if _accepted(verdict):
            same = self._same(text.content, before.id)
            if same is not None:
                self._take_into(operation, before, same)
                return
            verdict = self._clash(text.content, before.id) or verdict
        section = text.section or before.section
        if _accepted(verdict) and not self._applier.lessons.has_room(
            section, text.content, self._context.limits, leaving=(before,)
        ):
            self._make_room_for(operation)
        elif _accepted(verdict):
            self._applier.update(operation, before, text.content, section, verdict)
        else:
            self._applier.refuse(operation, verdict)

    def _take_into(self, operation: DeltaOperation, before: Bullet, same: Bullet) -> None:
        """Merge a bullet whose new text duplicates another one into that one."""
        verdict = self._pin(same)
        if verdict is None and len(self._leaving | {before.id}) > self._most_leaving:
            verdict = held("removes_too_much")
        if verdict is not None:
            self._applier.refuse(operation, verdict)
            return
        self._leaving |= {before.id}
        self._applier.merge(operation, same, (before,), applied("duplicate"))

    def _remove(self, operation: DeltaOperation) -> None:
        before = self._applier.bullet(operation.bullet_id)
        verdict = rejected("unknown_id") if before is None else self._departure(before)
        if before is None or verdict is not None:
            self._applier.refuse(operation, verdict or rejected("unknown_id"))
        else:
            self._applier.remove(operation, before)

    def _merge(self, operation: DeltaOperation) -> None:
        merging = operation.merging
        survivor = self._applier.bullet(merging.survivor)
        if len(merging.sources) > MOST_SOURCES:
            self._applier.refuse(operation, rejected("too_many_sources"))
        elif survivor is None:
            self._applier.refuse(operation, rejected("unknown_id"))
        else:
            self._merge_into(operation, survivor, merging.sources)

    def _merge_into(
        self, operation: DeltaOperation, survivor: Bullet, source_ids: Sequence[str]
    ) -> None:
        try:
            group = (survivor, *self._applier.sources(survivor, source_ids))
        except PlaybookError as error:
            self._applier.refuse(operation, rejected(str(error)))
            return
        text = self._text(operation, required=operation.content is not None)
        section = text.section or survivor.section
        verdict = text.verdict
        if _accepted(verdict) and text.content:
            ids = [bullet.id for bullet in group]
            if self._same(text.content, *ids) is not None:
                verdict = rejected("duplicate")
            else:
                verdict = self._clash(text.content, *ids) or verdict
        if _accepted(verdict):
            verdict = self._group_verdict(group, text.content) or verdict
        if _accepted(verdict) and not self._applier.lessons.has_room(
            section, text.content or survivor.content, self._context.limits, leaving=group
        ):
            self._make_room_for(operation)
        elif _accepted(verdict):
            words = text.content or None
            self._applier.merge(
                operation, survivor, group[1:], verdict, text=words, section=section
            )
        else:
            self._applier.refuse(operation, verdict)

    def _group_verdict(self, group: Sequence[Bullet], text: str) -> Verdict | None:
        """Why bullets must not be merged (pinned, too many, content lost), or None."""
        leaving = next(filter(None, map(self._departure, group)), None)
        if leaving is not None or self._context.by_person:
            return leaving
        ids = {bullet.id for bullet in group}
        if any(ids.intersection(self._applier.lessons.contrary(b.content)) for b in group):
            return held("contradiction")
        kept = lesson_of(text or group[0].content)
        lost = not all(same(kept, lesson_of(bullet.content)) for bullet in group)
        return held("differs") if lost else None

    def _departure(self, bullet: Bullet) -> Verdict | None:
        """Why a bullet must not be removed, or None."""
        if not self._trusted:
            return held("ungrounded")
        return self._pin(bullet) or (held("removes_too_much") if self._removals_held else None)

    def _pin(self, bullet: Bullet) -> Verdict | None:
        return held("pinned") if bullet.pinned and not self._context.by_person else None

    def _same(self, text: str, *apart_from: str) -> Bullet | None:
        return self._applier.bullet(self._applier.lessons.same(text, apart_from=apart_from))

    def _clash(self, text: str, *apart_from: str) -> Verdict | None:
        """Why a text conflicts with other bullets (contradiction, paraphrase), or None."""
        if self._context.by_person:
            return None
        contrary = self._applier.lessons.contrary(text, apart_from=apart_from)
        if not contrary:
            alike = self._applier.lessons.alike(text, apart_from=apart_from)
            return held("possible_duplicate") if alike else None
        bullets = [self._applier.bullet(bullet_id) for bullet_id in contrary]
        pinned = any(bullet is not None and bullet.pinned for bullet in bullets)
        return held("contradiction_pinned" if pinned else "contradiction")

    def _text(self, operation: DeltaOperation, *, required: bool = True) -> _Text:
        """Screen content and section of an operation; generalise them if shared."""
        # Invisible characters must not split a name or a secret in two.
        content, verdict = one_line(visible(operation.content or "")), OK
        section = one_line(visible(operation.section[:HEADING_CHARACTERS]))
        # Provenance is checked on the original text, before generalising.
        doubt = self._doubt(content, section)
        if required:
            content, verdict = self._screened(content, self._context.limits.bullet_tokens)
        if _accepted(verdict) and clean_section(section):
            # Headings appear in the prompt too, so they are screened like the text, and before
            # they are cut, since half a secret would not be recognised.
            section, heading = self._screened(section, HEADING_CHARACTERS)
            verdict = verdict if heading is OK else heading
        if _accepted(verdict):
            verdict = doubt or verdict
        return _Text(content, clean_section(section), verdict)

    def _doubt(self, content: str, section: str) -> Verdict | None:
        """Why a lesson's provenance or subject is doubtful, or None."""
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
        """Screen a text of at most `limit` tokens; generalise it if shared."""
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
        """Whether a lesson rests on more than tool text, or a person vouches for it."""
        return self._context.grounded or self._context.by_person


def _accepted(verdict: Verdict) -> bool:
    return verdict.status is DeltaStatus.APPLIED
