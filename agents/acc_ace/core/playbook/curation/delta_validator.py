"""Judge the operations of a batch one by one: accept, hold for review, or reject.

The text itself is checked first, so that no operation is held that could never be applied.
"""

from collections.abc import Sequence
from typing import NamedTuple

from acc_ace.core.playbook.bullet_screening import rejection_reason
from acc_ace.core.playbook.curation.curation_record import (
    OK,
    OVER_BUDGET,
    CurationContext,
    Ruling,
    Verdict,
    applied,
    pending,
    rejected,
)
from acc_ace.core.playbook.lesson_index import WorkingPlaybook
from acc_ace.core.playbook.sharing_gate import Generalised, generalise
from acc_ace.core.schemas.bullet import DEFAULT_SECTION, Bullet, clean_id, clean_section, one_line
from acc_ace.core.schemas.delta import (
    MOST_SOURCES,
    DeltaKind,
    DeltaOperation,
    DeltaStatus,
    DeltaType,
)
from acc_ace.core.text.duplicates import lesson_of, same
from acc_ace.core.text.lessons.consent import speaks_of_consent
from acc_ace.core.text.normalize import visible
from acc_ace.errors import PlaybookError

HEADING_CHARACTERS = 1_024
"""Maximum characters screened of a section's name; the stored name is shorter."""

NO_ROOM = pending(OVER_BUDGET)
"""A budget of the playbook or of the section would be exceeded."""

FEW_BULLETS = 4
"""A playbook with fewer bullets may be emptied by one batch."""


class _Text(NamedTuple):
    """The screened content and section of an operation, with the verdict."""

    content: str
    section: str
    verdict: Verdict


class DeltaValidator:
    """Judges the operations of one batch, each against the bullets as the earlier ones left them.

    A ruling depends on nothing else; judging changes nothing.
    """

    def __init__(
        self,
        context: CurationContext,
        bullets: Sequence[Bullet],
        operations: Sequence[DeltaOperation],
    ) -> None:
        self._context = context
        self._leaving = _leaving(bullets, operations)
        may_empty = len(bullets) < FEW_BULLETS or context.by_person
        self._most_leaving = len(bullets) if may_empty else len(bullets) // 2
        self._removals_held = len(self._leaving) > self._most_leaving

    def ruling(self, operation: DeltaOperation, now: WorkingPlaybook) -> Ruling:
        """The verdict on an operation, with the change to make if it is accepted."""
        match operation.type:
            case DeltaType.ADD:
                return self._add(operation, now)
            case DeltaType.UPDATE:
                return self._update(operation, now)
            case DeltaType.REMOVE:
                return self._remove(operation, now)
            case DeltaType.MERGE:
                return self._merge(operation, now)

    def _add(self, operation: DeltaOperation, now: WorkingPlaybook) -> Ruling:
        text = self._text(operation)
        verdict = text.verdict
        if now.get(operation.bullet_id) is not None:
            verdict = rejected("id_exists")
        if not _accepted(verdict):
            return Ruling(operation, verdict)
        same = _same(text.content, now)
        if same is not None:
            return Ruling(operation, applied("duplicate"), DeltaKind.TAG, bullet=same)
        section = text.section or DEFAULT_SECTION
        verdict = self._clash(text.content, now) or verdict
        verdict = self._room(verdict, section, text.content, now)
        return Ruling(operation, verdict, DeltaKind.ADD, text.content, section)

    def _update(self, operation: DeltaOperation, now: WorkingPlaybook) -> Ruling:
        before = self._named(operation.bullet_id, now)
        if before is None:
            return Ruling(operation, rejected("unknown_id"))
        text = self._text(operation)
        verdict = text.verdict
        if _accepted(verdict):
            verdict = self._pin(before) or self._reach((before,), text.content) or verdict
        if not _accepted(verdict):
            return Ruling(operation, verdict)
        same = _same(text.content, now, before.id)
        if same is not None:
            return self._into(same, operation, before, now)
        section = text.section or before.section
        verdict = self._clash(text.content, now, before.id) or verdict
        verdict = self._room(verdict, section, text.content, now, before)
        return Ruling(operation, verdict, DeltaKind.UPDATE, text.content, section, before)

    def _into(
        self, same: Bullet, operation: DeltaOperation, before: Bullet, now: WorkingPlaybook
    ) -> Ruling:
        """A bullet whose new text is that of another one is merged into that one."""
        verdict = self._pin(same)
        if (
            verdict is None
            and len(self._leaving | now.merged_away | {before.id}) > self._most_leaving
        ):
            verdict = pending("removes_too_much")
        if verdict is not None:
            return Ruling(operation, verdict)
        return Ruling(
            operation, applied("duplicate"), DeltaKind.MERGE, bullet=same, sources=(before,)
        )

    def _remove(self, operation: DeltaOperation, now: WorkingPlaybook) -> Ruling:
        before = self._named(operation.bullet_id, now)
        if before is None:
            return Ruling(operation, rejected("unknown_id"))
        verdict = self._departure(before) or OK
        return Ruling(operation, verdict, DeltaKind.REMOVE, bullet=before)

    def _merge(self, operation: DeltaOperation, now: WorkingPlaybook) -> Ruling:
        merging = operation.merging
        survivor = self._named(merging.survivor, now)
        if len(merging.sources) > MOST_SOURCES:
            return Ruling(operation, rejected("too_many_sources"))
        if survivor is None:
            return Ruling(operation, rejected("unknown_id"))
        try:
            sources = now.draft.sources(survivor, merging.sources)
        except PlaybookError as error:
            return Ruling(operation, rejected(str(error)))
        return self._merge_into(survivor, sources, operation, now)

    def _merge_into(
        self,
        survivor: Bullet,
        sources: tuple[Bullet, ...],
        operation: DeltaOperation,
        now: WorkingPlaybook,
    ) -> Ruling:
        group = (survivor, *sources)
        text = self._text(operation, required=operation.content is not None)
        section = text.section or survivor.section
        verdict = text.verdict
        if _accepted(verdict) and text.content:
            ids = [bullet.id for bullet in group]
            if _same(text.content, now, *ids) is not None:
                verdict = rejected("duplicate")
            else:
                verdict = self._clash(text.content, now, *ids) or verdict
        if _accepted(verdict):
            held = self._group_verdict(group, text.content, now)
            verdict = held or self._reach(group, text.content) or verdict
        verdict = self._room(verdict, section, text.content or survivor.content, now, *group)
        words = text.content or None
        return Ruling(operation, verdict, DeltaKind.MERGE, words, section, survivor, sources)

    def _room(
        self, verdict: Verdict, section: str, text: str, now: WorkingPlaybook, *leaving: Bullet
    ) -> Verdict:
        """The verdict, or that there is no room for what it accepts."""
        if not _accepted(verdict) or now.lessons.size.has_room(
            section, text, self._context.limits, leaving=leaving
        ):
            return verdict
        return NO_ROOM

    def _group_verdict(
        self, group: Sequence[Bullet], text: str, now: WorkingPlaybook
    ) -> Verdict | None:
        """Why bullets must not be merged (pinned, too many, content lost), or None."""
        leaving = next(filter(None, map(self._departure, group)), None)
        if leaving is not None or self._context.by_person:
            return leaving
        ids = {bullet.id for bullet in group}
        if any(ids.intersection(now.lessons.contrary(b.content)) for b in group):
            return pending("contradiction")
        lesson = lesson_of(text or group[0].content)
        lost = not all(same(lesson, lesson_of(bullet.content)) for bullet in group)
        return pending("differs") if lost else None

    def _departure(self, bullet: Bullet) -> Verdict | None:
        """Why a bullet must not be removed, or None."""
        if not self._trusted:
            return pending("ungrounded")
        return self._pin(bullet) or (pending("removes_too_much") if self._removals_held else None)

    def _named(self, bullet_id: str | None, now: WorkingPlaybook) -> Bullet | None:
        """The bullet with an id; none that the batch's user is not shown."""
        bullet, context = now.get(bullet_id), self._context
        is_hidden = bullet and context.is_unconfirmed and context.confirms(bullet)
        return None if is_hidden else bullet

    def _reach(self, bullets: Sequence[Bullet], text: str | None) -> Verdict | None:
        """That new words of one user would reach those who are shown a bullet, or None."""
        is_wide = text and not all(bullet.unconfirmed for bullet in bullets)
        return pending("unconfirmed") if is_wide and self._context.is_unconfirmed else None

    def _pin(self, bullet: Bullet) -> Verdict | None:
        return pending("pinned") if bullet.pinned and not self._context.by_person else None

    def _clash(self, text: str, now: WorkingPlaybook, *apart_from: str) -> Verdict | None:
        """Why a text conflicts with other bullets (contradiction, paraphrase), or None."""
        if self._context.by_person:
            return None
        contrary = now.lessons.contrary(text, apart_from=apart_from)
        if not contrary:
            alike = map(now.get, now.lessons.alike(text, apart_from=apart_from))
            shown = any(bullet and not self._context.confirms(bullet) for bullet in alike)
            return pending("possible_duplicate") if shown else None
        bullets = [now.get(bullet_id) for bullet_id in contrary]
        pinned = any(bullet is not None and bullet.pinned for bullet in bullets)
        return pending("contradiction_pinned" if pinned else "contradiction")

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
        texts = [text for text in (content, section) if text]
        if not self._trusted:
            return pending("ungrounded")
        # Samples of an operator set no rules: there, a rule is one of arithmetic.
        if self._context.user and speaks_of_consent(content):
            return pending("about_rules")
        against = self._context.rule_objection
        reasons = (against(text) for text in texts) if against else ()
        return next((pending(reason) for reason in reasons if reason), None)

    def _screened(self, text: str, limit: int) -> tuple[str, Verdict]:
        """Screen a text of at most `limit` tokens; generalise it if shared."""
        shared = Generalised(text, changed=False, stopped=False)
        if self._context.shared and rejection_reason(text, max_tokens=limit) != "too_long":
            shared = generalise(text, self._context.entities, user=self._context.user)
        reason = rejection_reason(shared.text, max_tokens=limit)
        if reason is not None:
            return shared.text, rejected(reason)
        if shared.stopped:
            return shared.text, pending("personal")
        return shared.text, applied("generalised") if shared.changed else OK

    @property
    def _trusted(self) -> bool:
        """Whether a lesson rests on more than tool text, or a person vouches for it."""
        return self._context.grounded or self._context.by_person


def _same(text: str, now: WorkingPlaybook, *apart_from: str) -> Bullet | None:
    return now.get(now.lessons.same(text, apart_from=apart_from))


def _leaving(bullets: Sequence[Bullet], operations: Sequence[DeltaOperation]) -> frozenset[str]:
    """Ids of known bullets that a batch would remove or merge away."""
    named: set[str] = set()
    for operation in operations:
        if operation.type is DeltaType.REMOVE:
            named.add(clean_id(operation.bullet_id or ""))
        elif operation.type is DeltaType.MERGE:
            survivor, sources = operation.merging
            named |= set(map(clean_id, sources[:MOST_SOURCES])) - {clean_id(survivor)}
    return frozenset(named.intersection(bullet.id for bullet in bullets))


def _accepted(verdict: Verdict) -> bool:
    return verdict.status is DeltaStatus.APPLIED
