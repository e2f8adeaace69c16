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
    ungrounded            the lesson rests on tool or retrieved text alone     held
    lifts_rules           it speaks of lifting any rule                        held
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
    foreign_words         it repeats a tool, a document or pasted text         rejected
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

from acc_ace.core.playbook.curation.curation_record import (
    OK,
    Curated,
    CurationContext,
    Refiner,
    Verdict,
    record_of,
    rejected,
    result_of,
)
from acc_ace.core.playbook.curation.delta_applier import DeltaApplier
from acc_ace.core.playbook.curation.delta_validator import DeltaValidator
from acc_ace.core.schemas.bullet import Bullet, clean_id, is_bullet_id
from acc_ace.core.schemas.delta import DeltaBatch, DeltaKind, DeltaResult, DeltaType
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook
from acc_ace.core.schemas.reflection import BulletTag

__all__ = ["Curated", "CurationContext", "Refiner", "curate", "tag"]

MOST_REFUSED = 64
"""Operations beyond the limit that are logged one by one; the rest share a record."""


def curate(playbook: Playbook, batch: DeltaBatch, context: CurationContext) -> Curated:
    """Validate and apply a batch; one result per operation. Never raises.

    The results are in the order of the operations, unreadable ones last.
    """
    ledger = DeltaApplier(playbook, context)
    limit = context.limits.delta_operations
    judge = DeltaValidator(ledger, context, playbook.bullets, batch.operations[:limit])
    for operation in batch.operations[:limit]:
        judge.check(operation)
    too_many = rejected("too_many_operations")
    for operation in batch.operations[limit : limit + MOST_REFUSED]:
        ledger.refuse(operation, too_many)
    ledger.refuse_rest(batch.operations[limit + MOST_REFUSED :], too_many)
    for text in batch.unreadable[:limit]:
        ledger.refuse_unreadable(text, rejected("unreadable"))
    if len(batch.unreadable) > limit:
        more = f"{len(batch.unreadable) - limit} more operations"
        ledger.refuse_unreadable(more, rejected("unreadable"))
    return ledger.curated()


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
        results.append(result_of(DeltaType.UPDATE, named, verdict))
        records.append(
            record_of(DeltaKind.TAG, named, verdict, context, before=before, after=after)
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
