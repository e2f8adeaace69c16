"""Apply rulings to a working playbook, and record each in the delta log."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypedDict

from acc_ace.core.playbook.curation.curation_record import (
    CurationContext,
    Ruling,
    Verdict,
    rejected,
)
from acc_ace.core.playbook.lesson_index import WorkingPlaybook
from acc_ace.core.playbook.sharing_gate import mask_names
from acc_ace.core.schemas.bullet import Bullet, clean_id, clean_section, is_bullet_id, one_line
from acc_ace.core.schemas.delta import (
    MOST_SOURCES,
    UNREADABLE,
    DeltaKind,
    DeltaOperation,
    DeltaResult,
    DeltaStatus,
    DeltaType,
    Priority,
)
from acc_ace.core.schemas.playbook import DeltaRecord
from acc_ace.core.text.normalize import skeleton, visible
from acc_ace.core.text.redaction import find_sensitive, redact
from acc_ace.core.text.tokens import clip_tokens

_UNREADABLE = rejected("unreadable")
_TOO_MANY = rejected("too_many_operations")


class Ending(NamedTuple):
    """The result of an operation, and its records."""

    result: DeltaResult
    records: list[DeltaRecord]


def apply_ruling(ruling: Ruling, now: WorkingPlaybook, context: CurationContext) -> Ending:
    """Make the change of a ruling, or log why it is refused."""
    if ruling.verdict.status is not DeltaStatus.APPLIED:
        return _refused(ruling, now.get(ruling.operation.bullet_id), context)
    after: Bullet | None = None
    match ruling.change:
        case DeltaKind.ADD:
            after = _added(ruling, now, context)
        case DeltaKind.UPDATE:
            after = _updated(ruling, now, context)
        case DeltaKind.REMOVE:
            now.restate((now.draft.remove(_changed_bullet(ruling).id),), None)
        case DeltaKind.MERGE:
            after = _merged(ruling, now, context)
        case _:
            after = _confirmed(ruling, now, context)
    return _logged(ruling, after, context)


def refuse_unreadable(texts: Sequence[str], context: CurationContext) -> list[Ending]:
    """Log unreadable operations; those beyond the limit share a record, to bound the log."""
    limit = context.limits.delta_operations
    lines = [_shown(text, context) for text in texts[:limit]]
    if len(texts) > limit:
        lines.append(f"{len(texts) - limit} more operations")
    result = _result(UNREADABLE, None, _UNREADABLE)
    return [Ending(result, [_unreadable(text, _UNREADABLE, context)]) for text in lines]


def refuse_surplus(
    operations: Sequence[DeltaOperation], now: WorkingPlaybook, context: CurationContext, most: int
) -> list[Ending]:
    """Refuse operations beyond the limit; those after the first `most` share a record."""
    endings = [
        _refused(Ruling(operation, _TOO_MANY), now.get(operation.bullet_id), context)
        for operation in operations[:most]
    ]
    rest = operations[most:]
    endings += [Ending(_result(operation.type, None, _TOO_MANY), []) for operation in rest]
    if rest:
        text = f"{len(rest)} more operations"
        endings[-1].records.append(_unreadable(text, _TOO_MANY, context))
    return endings


def _added(ruling: Ruling, now: WorkingPlaybook, context: CurationContext) -> Bullet:
    """The new bullet; its id comes from the counter, not from the model."""
    after = now.draft.add(
        ruling.section,
        ruling.text or "",
        bullet_id=None,
        at=context.at,
        origin=context.origin,
        unconfirmed=context.is_unconfirmed,
    )
    now.restate((), after)
    return after


def _updated(ruling: Ruling, now: WorkingPlaybook, context: CurationContext) -> Bullet:
    before = _changed_bullet(ruling)
    after = now.draft.update(
        before.id,
        content=ruling.text,
        section=ruling.section,
        at=context.at,
        origin=context.origin,
        unconfirmed=before.unconfirmed and context.is_unconfirmed,
    )
    now.restate((before,), after)
    return after


def _merged(ruling: Ruling, now: WorkingPlaybook, context: CurationContext) -> Bullet:
    survivor = _changed_bullet(ruling)
    after = now.draft.merge(
        survivor.id,
        [bullet.id for bullet in ruling.sources],
        content=ruling.text,
        section=ruling.section,
        at=context.at,
        origin=None if ruling.text is None else context.origin,
    )
    now.restate((survivor, *ruling.sources), after)
    if ruling.operation.type is DeltaType.UPDATE:
        now.merged_away |= {bullet.id for bullet in ruling.sources}
    return after


def _confirmed(ruling: Ruling, now: WorkingPlaybook, context: CurationContext) -> Bullet:
    bullet = _changed_bullet(ruling)
    if context.confirms(bullet):
        now.draft.confirm(bullet.id)
    # Learning a lesson again is no evidence that it helps.
    return now.draft.tag(bullet.id, "neutral", increment=1, at=context.at)


def _changed_bullet(ruling: Ruling) -> Bullet:
    if ruling.bullet is None:
        raise AssertionError(f"a ruling of {ruling.change} names its bullet")
    return ruling.bullet


def _logged(ruling: Ruling, after: Bullet | None, context: CurationContext) -> Ending:
    """The records of a change; each source of a merge has one, so that its id stays known."""
    operation, verdict = ruling.operation, ruling.verdict
    kind = ruling.change or DeltaKind(operation.type)
    bullet = after or _changed_bullet(ruling)
    why, stamp = _why(operation, context), context.stamp(verdict)
    proposed = _shown(operation.content, context) if kind is DeltaKind.TAG else None
    record = DeltaRecord(
        kind=kind,
        bullet_id=bullet.id,
        before=ruling.bullet,
        after=after,
        proposed=proposed,
        **why,
        **stamp,
    )
    sources = [
        DeltaRecord(kind=kind, bullet_id=old.id, before=old, merged_into=bullet.id, **why, **stamp)
        for old in ruling.sources
    ]
    return Ending(_result(operation.type, bullet.id, verdict), [record, *sources])


def _refused(ruling: Ruling, live: Bullet | None, context: CurationContext) -> Ending:
    """The record of an operation that is not applied; a held one's is enough to apply it later."""
    operation, verdict, *_ = ruling
    bullet_id = clean_id(operation.bullet_id or "")
    # An invalid id may be arbitrary text, so it is not logged.
    named = bullet_id if is_bullet_id(bullet_id) else None
    is_held = verdict.status is DeltaStatus.HELD
    record = DeltaRecord(
        kind=DeltaKind(operation.type),
        bullet_id=named,
        before=live,
        after=live,
        proposed=_shown(operation.content, context),
        operation=_loggable(operation, named, context) if is_held else None,
        **_why(operation, context),
        **context.stamp(verdict),
    )
    return Ending(_result(operation.type, named, verdict), [record])


def _unreadable(text: str | None, verdict: Verdict, context: CurationContext) -> DeltaRecord:
    kind = DeltaKind.UNREADABLE
    return DeltaRecord(kind=kind, bullet_id=None, proposed=text, **context.stamp(verdict))


def _result(
    kind: DeltaType | Literal["UNREADABLE"], bullet_id: str | None, verdict: Verdict
) -> DeltaResult:
    return DeltaResult(type=kind, bullet_id=bullet_id, status=verdict.status, reason=verdict.reason)


class _Why(TypedDict):
    rationale: str
    priority: Priority


def _why(operation: DeltaOperation, context: CurationContext) -> _Why:
    rationale = _shown(operation.rationale, context) or ""
    return _Why(rationale=rationale, priority=operation.priority)


def _loggable(
    operation: DeltaOperation, named: str | None, context: CurationContext
) -> DeltaOperation:
    """A held operation, redacted and bounded for the log."""
    source_ids = [clean_id(source) for source in operation.source_ids[:MOST_SOURCES]]
    return DeltaOperation(
        type=operation.type,
        section=clean_section(_shown(operation.section, context) or ""),
        content=_shown(operation.content, context),
        bullet_id=named,
        source_ids=[source for source in source_ids if is_bullet_id(source)],
        rationale=_shown(operation.rationale, context) or "",
        priority=operation.priority,
    )


def _shown(text: str | None, context: CurationContext) -> str | None:
    """Text for the log: one line, redacted, bounded."""
    if text is None:
        return None
    line = _redacted(one_line(visible(text)))
    if context.shared:
        line = mask_names(line, context.entities, user=context.user)
    return clip_tokens(line, 2 * context.limits.bullet_tokens)


def _redacted(text: str) -> str:
    """The text without secrets and personal data, disguised ones included."""
    plain = skeleton(text)
    disguised = plain != text and len(find_sensitive(plain)) > len(find_sensitive(text))
    return redact(plain if disguised else text)
