"""How playbooks, records and versions look over HTTP. Others than the one who asks stay unnamed."""

from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel, Field

from acc_ace.schemas.bullet import Bullet
from acc_ace.schemas.delta import DeltaOperation, DeltaResult, DeltaStatus
from acc_ace.schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from acc_ace.schemas.playbook_version import PlaybookVersion, RefineStep


class PlaybookView(BaseModel):
    """A version of the playbook."""

    version: int
    digest: str = Field(description="SHA-256 of the playbook.")
    bullets: list[Bullet]
    stats: dict[str, int]

    @classmethod
    def of(cls, stored: StoredPlaybook, *, user: str) -> Self:
        """The view of one user."""
        return cls(
            version=stored.version,
            digest=stored.digest,
            bullets=[seen_by(user, bullet) for bullet in stored.playbook.bullets],
            stats=stored.playbook.stats(),
        )


class Delta(BaseModel):
    """One operation on the playbook, and how it ended."""

    seq: int
    version: int
    kind: str
    bullet_id: str | None
    status: DeltaStatus
    reason: str
    before: Bullet | None
    after: Bullet | None
    merged_into: str | None = Field(description="Survivor of the merge.")
    resolves: int | None = Field(description="`seq` of the held operation decided here.")
    session: str | None = Field(description="Session of origin, if it is yours.")
    turn: int | None = Field(description="Turn of origin, if it is yours.")
    created_at: datetime

    @classmethod
    def of(cls, record: DeltaRecord, *, user: str) -> Self:
        """The view of one user."""
        return cls.model_validate(_seen(record, user))


class HeldDelta(Delta):
    """An operation that waits for a person to decide."""

    operation: DeltaOperation | None = Field(description="What would be applied, redacted.")


class DeltaPage(BaseModel):
    """A page of the log, newest first."""

    items: list[Delta]
    next_before: int | None = Field(description="`before` of the next page; null on the last one.")


class HeldPage(BaseModel):
    """A page of held operations, newest first."""

    items: list[HeldDelta]
    next_before: int | None = Field(description="`before` of the next page; null on the last one.")


class VersionPage(BaseModel):
    """A page of versions, newest first."""

    items: list[PlaybookVersion]
    next_before: int | None = Field(description="`before` of the next page; null on the last one.")


class StoryView(BaseModel):
    """Where a bullet comes from and what became of it, newest first."""

    bullet_id: str
    live: Bullet | None = Field(description="The bullet, or the survivor of its merge.")
    records: list[Delta]
    complete: bool


class DiffView(BaseModel):
    """What changed between two versions."""

    first: int
    second: int
    changes: list[dict[str, Bullet | None]] = Field(description="`before` and `after` of each.")
    text: str = Field(description="The differences as text.")


class HitView(BaseModel):
    """A bullet that fits."""

    score: float
    bullet: Bullet


class ChangeView(BaseModel):
    """The version now, and how each operation ended."""

    version: int
    digest: str
    results: list[DeltaResult]


class RefineView(BaseModel):
    """What refining did, or would do."""

    version: int
    dry_run: bool
    steps: list[RefineStep]
    unmet: list[str] = Field(description="Budgets that pinned bullets alone exceed.")


class BranchView(BaseModel):
    """A branch of the playbook."""

    name: str
    version: int
    digest: str
    bullets: int
    parent: str | None = Field(description="'' is main; null if it was deleted.")
    parent_version: int


def seen_by(user: str, bullet: Bullet) -> Bullet:
    """The bullet without where it comes from, unless that is the user's own turn."""
    if bullet.origin is None or bullet.origin.user == user:
        return bullet
    return bullet.model_copy(update={"origin": None})


def playbook_seen_by(user: str, playbook: Playbook) -> Playbook:
    """The playbook without where its lessons come from, the user's own apart."""
    bullets = tuple(seen_by(user, bullet) for bullet in playbook.bullets)
    return playbook.model_copy(update={"bullets": bullets})


def held_of(record: DeltaRecord, *, user: str) -> HeldDelta:
    """A held operation as one user sees it."""
    return HeldDelta.model_validate({**_seen(record, user), "operation": record.operation})


def _seen(record: DeltaRecord, user: str) -> dict[str, Any]:
    own = record.user == user
    return {
        **{name: getattr(record, name) for name in Delta.model_fields},
        "before": record.before and seen_by(user, record.before),
        "after": record.after and seen_by(user, record.after),
        "session": record.session if own else None,
        "turn": record.turn if own else None,
    }
