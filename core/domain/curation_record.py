"""How an operation ended, and its row in the delta log."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from schemas.bullet import Bullet
from schemas.delta import DeltaKind, DeltaResult, DeltaStatus, DeltaType
from schemas.limits import Limits
from schemas.playbook import DeltaRecord


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


@dataclass(frozen=True)
class Verdict:
    """A status with its reason code."""

    status: DeltaStatus
    reason: str


OK = Verdict(DeltaStatus.APPLIED, "ok")
"""Nothing speaks against it."""


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
    proposed: str | None = None,
) -> DeltaRecord:
    """The row for the delta log, with where it came from."""
    return DeltaRecord(
        kind=kind,
        bullet_id=bullet_id,
        status=verdict.status,
        reason=verdict.reason,
        before=before,
        after=after,
        proposed=proposed,
        user=context.user,
        session=context.session,
        turn=context.turn,
        created_at=context.at,
    )
