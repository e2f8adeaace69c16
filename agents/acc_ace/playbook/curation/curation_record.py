"""What curation knows, how an operation ended, and its rows in the delta log."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from acc_ace.schemas.bullet import Bullet, Origin, clean_id
from acc_ace.schemas.delta import (
    MOST_SOURCES,
    DeltaKind,
    DeltaOperation,
    DeltaResult,
    DeltaStatus,
    DeltaType,
)
from acc_ace.schemas.limits import Limits
from acc_ace.schemas.playbook import DeltaRecord, Playbook


@dataclass(frozen=True)
class Curated:
    """A playbook after curation, how each operation ended, and the rows for the delta log."""

    playbook: Playbook
    results: list[DeltaResult]
    records: list[DeltaRecord]


@dataclass(frozen=True)
class CurationContext:
    """Where a batch comes from, and the bounds it must keep."""

    limits: Limits
    at: datetime
    user: str
    session: str
    turn: int
    grounded: bool
    """False when the lesson rests only on text of tools or documents."""
    foreign: tuple[str, ...] = ()
    """What tools, documents and pasted text said; a lesson that says it again is rejected."""
    untrusted: tuple[str, ...] = ()
    """Errors of tools, and words that may be the user's own; a lesson that repeats them is held."""
    vouched: tuple[str, ...] = ()
    """What the user said; words that stand in it are the user's, whoever repeats them."""
    rule_objection: Callable[[str], str | None] | None = None
    """The reason why a lesson goes against the user's rules in force, or None."""
    quote_digest: str = ""
    """SHA-256, in hex, of the words that the lesson rests on."""
    shared: bool = False
    """Whether other users' prompts are made of the playbook, so that the sharing gate applies."""
    entities: tuple[str, ...] = ()
    """Typed names of the user's state ('person:Aiko'), which must not be shared."""
    by_person: bool = False
    """A person has decided: pins, contradictions and weak provenance hold nothing then."""
    resolves: int | None = None
    """`seq` of the held record that the batch decides, if it does."""
    refine: "Refiner | None" = None
    """Makes room in a playbook that is full; None holds what has no room."""

    @property
    def origin(self) -> Origin | None:
        """Where a bullet of this batch comes from; None where no user taught it."""
        if not self.user:
            return None
        return Origin(
            user=self.user,
            session=self.session,
            turn=self.turn,
            quote_digest=self.quote_digest,
        )


Refiner = Callable[[Playbook, CurationContext], Curated]
"""Merges and archives bullets; its records lead from the playbook to the refined one."""


@dataclass(frozen=True)
class Verdict:
    """A status with its reason code."""

    status: DeltaStatus
    reason: str


OK = Verdict(DeltaStatus.APPLIED, "ok")
"""Nothing speaks against it."""


def applied(reason: str) -> Verdict:
    """The operation took effect, in the way that the reason tells."""
    return Verdict(DeltaStatus.APPLIED, reason)


def rejected(reason: str) -> Verdict:
    """The operation is not possible, or must not be."""
    return Verdict(DeltaStatus.REJECTED, reason)


def held(reason: str) -> Verdict:
    """The operation is kept in the log for a person to decide."""
    return Verdict(DeltaStatus.HELD, reason)


def result_of(
    kind: DeltaType | Literal["UNREADABLE"], bullet_id: str | None, verdict: Verdict
) -> DeltaResult:
    """How an operation or a tag ended."""
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
    """The row for the delta log, with where it came from."""
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


def named_to_leave(
    bullets: Sequence[Bullet], operations: Sequence[DeltaOperation]
) -> frozenset[str]:
    """The ids of known bullets that a batch would remove or merge away."""
    named: set[str] = set()
    for operation in operations:
        if operation.type is DeltaType.REMOVE:
            named.add(clean_id(operation.bullet_id or ""))
        elif operation.type is DeltaType.MERGE:
            survivor, sources = operation.merging
            named |= set(map(clean_id, sources[:MOST_SOURCES])) - {clean_id(survivor)}
    return frozenset(named.intersection(bullet.id for bullet in bullets))
