"""The context of curation, its verdicts and rulings, and what they come to."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, TypedDict

from acc_ace.core.schemas.bullet import Bullet, Origin
from acc_ace.core.schemas.delta import DeltaKind, DeltaOperation, DeltaResult, DeltaStatus
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook
from acc_ace.core.schemas.report import ReportedDeparture

OVER_BUDGET = "over_budget"
MAKES_ROOM = "makes_room"
ROOM_REASONS = frozenset((MAKES_ROOM, OVER_BUDGET))
"""Why a full playbook archives bullets."""


@dataclass(frozen=True)
class Curated:
    """A playbook after curation, the result of each operation, and the delta records."""

    playbook: Playbook
    results: list[DeltaResult]
    records: list[DeltaRecord]

    @property
    def departures(self) -> list[ReportedDeparture]:
        """The bullets that were archived because the playbook was full."""
        return [
            ReportedDeparture(bullet_id=before.id, content=before.content, reason=record.reason)
            for record in self.records
            if record.kind is DeltaKind.ARCHIVE and record.reason in ROOM_REASONS
            if (before := record.before) is not None
        ]


@dataclass(frozen=True)
class Verdict:
    """A status with its reason code."""

    status: DeltaStatus
    reason: str


class Stamp(TypedDict):
    """The fields of a record that say how an operation ended, when, and in which turn."""

    status: DeltaStatus
    reason: str
    resolves: int | None
    user: str
    session: str
    turn: int
    created_at: datetime


@dataclass(frozen=True)
class CurationContext:
    """Provenance of a batch, and the limits that apply to it."""

    limits: Limits
    at: datetime
    user: str
    session: str
    turn: int
    grounded: bool
    """False when the lesson rests on text of tools or documents."""
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

    @property
    def is_unconfirmed(self) -> bool:
        """Whether a lesson is of one user's turn alone, so that others are not shown it yet."""
        return self.shared and bool(self.user and self.session) and not self.by_person

    def confirms(self, bullet: Bullet) -> bool:
        """Whether this batch, saying what a bullet says, is a second word for it."""
        author = bullet.origin.user if bullet.origin else ""
        return bullet.unconfirmed and (not self.is_unconfirmed or self.user != author)

    def stamp(self, verdict: Verdict) -> Stamp:
        """The fields of a record of an operation that ended so."""
        return Stamp(
            status=verdict.status,
            reason=verdict.reason,
            resolves=self.resolves,
            user=self.user,
            session=self.session,
            turn=self.turn,
            created_at=self.at,
        )


Refiner = Callable[[Playbook, CurationContext], Curated]
"""Merges and archives bullets; its records replay to the refined playbook."""

OK = Verdict(DeltaStatus.APPLIED, "ok")
"""Applied without reservation."""


def applied(reason: str) -> Verdict:
    """The operation was applied; the reason says how."""
    return Verdict(DeltaStatus.APPLIED, reason)


def rejected(reason: str) -> Verdict:
    """The operation is invalid or not allowed."""
    return Verdict(DeltaStatus.REJECTED, reason)


def pending(reason: str) -> Verdict:
    """The operation is logged, pending review."""
    return Verdict(DeltaStatus.HELD, reason)


class Ruling(NamedTuple):
    """The verdict on an operation, and the change that it stands for; made where it is accepted."""

    operation: DeltaOperation
    verdict: Verdict
    change: DeltaKind | None = None
    """ADD, UPDATE, REMOVE, MERGE, or TAG for a lesson that is there already; None for none."""
    text: str | None = None
    """The bullet's new text, screened; None leaves it unchanged."""
    section: str = ""
    bullet: Bullet | None = None
    """The bullet to change, as it is; the one that stays in a MERGE; None for an ADD."""
    sources: tuple[Bullet, ...] = ()
    """The bullets that a MERGE takes in."""
