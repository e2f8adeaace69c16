"""Decide which operations a playbook takes: the guard between the Curator and the store.

Each operation ends as applied, held (logged, pending review) or rejected, with a reason code.
Operations are validated one by one, so a bad one does not affect the others. The resulting
records are the delta log; replayed from empty they give the playbook.

    ok                    it was applied unchanged                             applied
    duplicate             a bullet of some section says the same: an ADD       applied
                          counts as a neutral tag on it, an UPDATE as a merge
                          into it
    generalised           applied without personal data (shared playbooks)     applied

    over_budget           a budget is exceeded, even after a refine            held
    ungrounded            the lesson rests on words of others                  held
    about_rules           it speaks of rules, consent or approvals             held
    unconfirmed           one user would reword what others are shown          held
    against_rule          it violates a rule of the user that is in force      held
    contradiction         it contradicts a live bullet                         held
    contradiction_pinned  it contradicts a pinned bullet                       held
    possible_duplicate    it may paraphrase a live bullet                      held
    differs               MERGE would lose content of a bullet                 held
    pinned                it would change or remove a pinned bullet            held
    personal              personal data may remain in it (shared playbooks)    held
    removes_too_much      the batch removes over half of four or more bullets  held

    unknown_id            UPDATE, REMOVE, MERGE or a tag names no bullet       rejected
    id_exists             ADD names a bullet that exists                       rejected
    empty                 it has no text                                       rejected
    too_long              the text exceeds `limits.bullet_tokens`              rejected
    secret, pii           the text holds a credential or personal data         rejected
    instruction_like      the text reads like an instruction to the model      rejected
    no_sources            MERGE names no source bullet                         rejected
    duplicate             another bullet already says the merged text          rejected
    merge_with_itself     MERGE names only the survivor                        rejected
    too_many_sources      MERGE names more than 64 bullets                     rejected
    unreadable            it is not an ADD, UPDATE, REMOVE or MERGE            rejected
    too_many_operations   beyond `limits.delta_operations`                     rejected
    not_used, tagged      the bullet was not used, or is tagged, in this turn  rejected
"""

from collections.abc import Collection, Sequence
from itertools import chain

from acc_ace.core.playbook.curation.curation_record import (
    OK,
    Curated,
    CurationContext,
    Refiner,
    Verdict,
    rejected,
)
from acc_ace.core.playbook.curation.delta_applier import (
    Ending,
    apply_ruling,
    refuse_surplus,
    refuse_unreadable,
)
from acc_ace.core.playbook.curation.delta_validator import NO_ROOM, DeltaValidator
from acc_ace.core.playbook.lesson_index import WorkingPlaybook
from acc_ace.core.schemas.bullet import Bullet, clean_id, is_bullet_id
from acc_ace.core.schemas.delta import (
    DeltaBatch,
    DeltaKind,
    DeltaResult,
    DeltaStatus,
    DeltaType,
)
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook
from acc_ace.core.schemas.reflection import BulletTag

__all__ = ["Curated", "CurationContext", "Refiner", "curate", "tag"]

MOST_REFUSED = 64
"""Operations beyond the limit that are logged one by one; the rest share a record."""


def curate(playbook: Playbook, batch: DeltaBatch, context: CurationContext) -> Curated:
    """Judge and apply the operations of a batch in turn; one result per operation. Never raises.

    The results are in the order of the operations, unreadable ones last.
    """
    limit = context.limits.delta_operations
    now = WorkingPlaybook(playbook)
    judge = DeltaValidator(context, playbook.bullets, batch.operations[:limit])
    endings: list[Ending] = []
    for operation in batch.operations[:limit]:
        ruling = judge.ruling(operation, now)
        room: list[DeltaRecord] = []
        if ruling.verdict is NO_ROOM and not now.is_crowded:
            named = [name for name in (operation.bullet_id, *operation.source_ids) if now.get(name)]
            room = _make_room(now, context)
            # Refining may have archived the very bullet to change; then the operation is held.
            if room and all(map(now.get, named)):
                ruling = judge.ruling(operation, now)
        ending = apply_ruling(ruling, now, context)
        endings.append(ending._replace(records=[*room, *ending.records]))
    endings += refuse_surplus(batch.operations[limit:], now, context, MOST_REFUSED)
    endings += refuse_unreadable(batch.unreadable, context)
    records = chain.from_iterable(ending.records for ending in endings)
    return Curated(now.playbook(), [ending.result for ending in endings], [*records])


def _make_room(now: WorkingPlaybook, context: CurationContext) -> list[DeltaRecord]:
    """Refine the playbook; its records, none if that changed nothing."""
    refined = context.refine(now.playbook(), context) if context.refine else None
    if refined is None or not any(r.status is DeltaStatus.APPLIED for r in refined.records):
        # Trying again in this batch would not free anything either.
        now.is_crowded = True
        return []
    now.become(refined.playbook)
    return refined.records


def tag(
    playbook: Playbook,
    tags: Sequence[BulletTag],
    used_ids: Collection[str],
    context: CurationContext,
) -> Curated:
    """Count tags of bullets that this turn used, one per bullet; reject the others.

    There is one result per tag, of type UPDATE; the records are of kind TAG.
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
        stamp = context.stamp(verdict)
        results.append(
            DeltaResult(
                type=DeltaType.UPDATE,
                bullet_id=named,
                status=verdict.status,
                reason=verdict.reason,
            )
        )
        records.append(
            DeltaRecord(kind=DeltaKind.TAG, bullet_id=named, before=before, after=after, **stamp)
        )
    return Curated(playbook.with_draft(draft), results, records)


def _judge_tag(
    bullet_id: str, bullet: Bullet | None, used: Collection[str], tagged: Collection[str]
) -> Verdict:
    if bullet is None:
        return rejected("unknown_id")
    if bullet_id not in used:
        return rejected("not_used")
    return rejected("tagged") if bullet_id in tagged else OK
