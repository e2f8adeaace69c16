"""How playbooks, records and versions look over HTTP. Others than the one who asks stay unnamed."""

from datetime import datetime
from typing import NamedTuple, Self

from pydantic import BaseModel, Field

from acc_ace.core.playbook.playbook_size import content_stats
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.delta import (
    DeltaOperation,
    DeltaResult,
    DeltaStatus,
    PlaybookVersion,
    Priority,
    RefineStep,
)
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from acc_ace.core.schemas.report import ReportedDeparture


class Onlooker(NamedTuple):
    """Who looks at a playbook."""

    user: str
    decides: bool
    """Whether as an operator, who sees what nobody has confirmed and may decide what is held."""

    def bullet(self, bullet: Bullet | None) -> Bullet | None:
        """The bullet without where it comes from, unless that is a turn of the user's.

        None for one that the user may not be shown: another user's, which nobody has confirmed.
        """
        if bullet is None or not (self.decides or bullet.is_shown_to(self.user)):
            return None
        if bullet.origin is None or bullet.origin.user == self.user:
            return bullet
        return bullet.model_copy(update={"origin": None})

    def playbook(self, playbook: Playbook) -> Playbook:
        """The playbook of such bullets."""
        bullets = tuple(each for each in map(self.bullet, playbook.bullets) if each)
        return playbook.model_copy(update={"bullets": bullets})


class PlaybookView(BaseModel):
    """A version of the playbook."""

    version: int
    digest: str = Field(description="SHA-256 of the playbook.")
    bullets: list[Bullet]
    stats: dict[str, int] = Field(
        description="Counts of bullets, sections, tags and exported files; characters, tokens; "
        "'in NAME' counts the bullets of a section."
    )

    @classmethod
    def of(cls, stored: StoredPlaybook, onlooker: Onlooker, *, files: int) -> Self:
        """The view of one user; `files` were exported of it."""
        playbook = onlooker.playbook(stored.playbook)
        return cls(
            version=stored.version,
            digest=stored.digest,
            bullets=list(playbook.bullets),
            stats={**playbook.stats(), "files": files, **content_stats(playbook)},
        )


class Delta(BaseModel):
    """One operation on the playbook, and its result."""

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
    priority: Priority = Field(description="How much it mattered to the one who proposed it.")
    proposed: str | None = Field(
        description="Text of a held or rejected operation, redacted; if it is of your turn, or "
        "you may decide."
    )
    rationale: str = Field(description="Why it was proposed, redacted; to whom the text is shown.")
    session: str | None = Field(description="Session of origin, if it is yours.")
    turn: int | None = Field(description="Turn of origin, if it is yours.")
    created_at: datetime

    @classmethod
    def of(cls, record: DeltaRecord, onlooker: Onlooker) -> Self:
        """The view of one user, who may decide what is held or not."""
        own = record.user == onlooker.user
        sees = own or onlooker.decides
        return cls.model_validate(
            {
                **{name: getattr(record, name) for name in cls.model_fields},
                "before": onlooker.bullet(record.before),
                "after": onlooker.bullet(record.after),
                "proposed": record.proposed if sees else None,
                "rationale": record.rationale if sees else "",
                "session": record.session if own else None,
                "turn": record.turn if own else None,
            }
        )


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


class BulletHistoryView(BaseModel):
    """A bullet's origin and history, newest first."""

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
    """A matching bullet."""

    score: float
    bullet: Bullet


class ChangeView(BaseModel):
    """The current version, and the result of each operation."""

    version: int
    digest: str
    results: list[DeltaResult]
    left: list[ReportedDeparture] = Field(
        default_factory=list, description="Bullets that left the full playbook; restorable."
    )
    passed_over: int | None = Field(
        default=None, description="Of an imported file, how many lines are no lesson."
    )


class RefineView(BaseModel):
    """What refine did, or would do."""

    version: int
    dry_run: bool
    steps: list[RefineStep]
    unmet: list[str] = Field(description="Budgets that pinned bullets alone exceed.")
