"""The context of curation, its verdicts, and its rows in the delta log."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from acc_ace.core.schemas.bullet import Bullet, Origin, clean_id
from acc_ace.core.schemas.delta import (
    MOST_SOURCES,
    DeltaKind,
    DeltaOperation,
    DeltaResult,
    DeltaStatus,
    DeltaType,
)
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook


@dataclass(frozen=True)
class Curated:
    """A playbook after curation, the result of each operation, and the delta records."""

    playbook: Playbook
    results: list[DeltaResult]
    records: list[DeltaRecord]


@dataclass(frozen=True)
class CurationContext:
    """Provenance of a batch, and the limits that apply to it."""

    limits: Limits
    at: datetime
    user: str
    session: str
    turn: int
    grounded: bool
    """False when the lesson rests only on text of tools or documents."""
    foreign: tuple[str, ...] = ()
    """Text of tools, documents and pasted quotes; a lesson that repeats it is rejected."""
    untrusted: tuple[str, ...] = ()
    """Errors of tools, and text of doubtful authorship; a lesson that repeats it is held."""
    vouched: tuple[str, ...] = ()
    """Text of the user; words found in it count as the user's even if others repeat them."""
    rule_objection: Callable[[str], str | None] | None = None
    """Returns why a lesson violates the user's rules in force, or None."""
    quote_digest: str = ""
    """SHA-256, in hex, of the source text of the lesson."""
    shared: bool = False
    """Whether the playbook is shared with other users, so that the sharing gate applies."""
    entities: tuple[str, ...] = ()
    """Typed names of the user's state ('person:Aiko'), which must not be shared."""
    by_person: bool = False
    """A person has decided: pins, contradictions and weak provenance do not hold changes."""
    resolves: int | None = None
    """`seq` of the held record that the batch decides, if any."""
    refine: "Refiner | None" = None
    """Makes room in a full playbook; without it, bullets over budget are held."""

    @property
    def origin(self) -> Origin | None:
        """The origin of this batch's bullets; None if no user taught them."""
        if not self.user:
            return None
        return Origin(
            user=self.user,
            session=self.session,
            turn=self.turn,
            quote_digest=self.quote_digest,
        )


Refiner = Callable[[Playbook, CurationContext], Curated]
"""Merges and archives bullets; its records replay to the refined playbook."""


@dataclass(frozen=True)
class Verdict:
    """A status with its reason code."""

    status: DeltaStatus
    reason: str


OK = Verdict(DeltaStatus.APPLIED, "ok")
"""Applied without reservation."""


def applied(reason: str) -> Verdict:
    """The operation was applied; the reason says how."""
    return Verdict(DeltaStatus.APPLIED, reason)


def rejected(reason: str) -> Verdict:
    """The operation is invalid or not allowed."""
    return Verdict(DeltaStatus.REJECTED, reason)


def held(reason: str) -> Verdict:
    """The operation is logged, pending review."""
    return Verdict(DeltaStatus.HELD, reason)


def result_of(
    kind: DeltaType | Literal["UNREADABLE"], bullet_id: str | None, verdict: Verdict
) -> DeltaResult:
    """The result of an operation or a tag."""
    return DeltaResult(type=kind, bullet_id=bullet_id, status=verdict.status, reason=verdict.reason)


def record_of(
    kind: DeltaKind,
    bullet_id: str | None,
    verdict: Verdict,
    context: CurationContext,
    *,
    before: Bullet | None,
    after: Bullet | None,
    merged_into: str | None = None,
    proposed: str | None = None,
    operation: DeltaOperation | None = None,
) -> DeltaRecord:
    """The delta record with its provenance."""
    return DeltaRecord(
        kind=kind,
        bullet_id=bullet_id,
        status=verdict.status,
        reason=verdict.reason,
        before=before,
        after=after,
        merged_into=merged_into,
        proposed=proposed,
        operation=operation,
        resolves=context.resolves,
        user=context.user,
        session=context.session,
        turn=context.turn,
        created_at=context.at,
    )


def ids_to_remove(
    bullets: Sequence[Bullet], operations: Sequence[DeltaOperation]
) -> frozenset[str]:
    """Ids of known bullets that a batch would remove or merge away."""
    named: set[str] = set()
    for operation in operations:
        if operation.type is DeltaType.REMOVE:
            named.add(clean_id(operation.bullet_id or ""))
        elif operation.type is DeltaType.MERGE:
            survivor, sources = operation.merging
            named |= set(map(clean_id, sources[:MOST_SOURCES])) - {clean_id(survivor)}
    return frozenset(named.intersection(bullet.id for bullet in bullets))
