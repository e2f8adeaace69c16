"""Output schema of the Curator, and the result of each operation."""

from datetime import datetime
from enum import StrEnum
from operator import not_
from typing import Final, Literal, NamedTuple

from pydantic import Field, field_validator

from acc_ace.core.schemas.base import EntryReply, ReplyHints, ReplyValue, Value

UNREADABLE: Final = "UNREADABLE"
"""Stands for the type of an operation that is none of the four."""

MOST_SOURCES = 64
"""Bullets that one MERGE may take into its survivor."""

Priority = Literal["low", "normal", "high"]


class DeltaType(StrEnum):
    """Kind of operation on a playbook."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    REMOVE = "REMOVE"
    MERGE = "MERGE"


class DeltaKind(StrEnum):
    """Kind of a delta log row: by the Curator, by refine, or by a person."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    REMOVE = "REMOVE"
    MERGE = "MERGE"
    TAG = "TAG"
    ARCHIVE = "ARCHIVE"
    RESTORE = "RESTORE"
    PIN = "PIN"
    UNPIN = "UNPIN"
    EDIT = "EDIT"
    IMPORT = "IMPORT"
    ROLLBACK = "ROLLBACK"
    FORK = "FORK"  # Of earlier programs.
    PROMOTE = "PROMOTE"
    ERASE = "ERASE"
    UNREADABLE = "UNREADABLE"


class Merging(NamedTuple):
    """The survivor and the sources of a MERGE, as the model wrote them."""

    survivor: str
    sources: list[str]


class DeltaOperation(ReplyValue):
    """One small change. Never a rewrite of the playbook."""

    rationale: str = Field(
        default="",
        exclude_if=not_,
        description="Why this change, in one sentence: what in the turn it rests on.",
    )
    type: DeltaType = Field(description="ADD, UPDATE, REMOVE or MERGE.")
    section: str = Field(default="", description="Section of the bullet, e.g. 'strategies'.")
    content: str | None = Field(
        default=None, description="Text of the bullet; ADD and UPDATE, with MERGE if it changes."
    )
    bullet_id: str | None = Field(
        default=None, description="The bullet; UPDATE and REMOVE; with MERGE the one that stays."
    )
    source_ids: list[str] = Field(
        default_factory=list, description="MERGE: the bullets that go into `bullet_id`."
    )
    priority: Priority = Field(
        default="normal",
        exclude_if=lambda priority: priority == "normal",
        description="How much it matters: low, normal or high.",
    )

    hints = ReplyHints(
        other_names={
            "type": ("op", "action", "operation"),
            "content": ("text", "lesson", "bullet"),
            "bullet_id": ("id", "target_id", "skill_id"),
            "source_ids": ("sources", "source_bullet_ids", "merge_ids"),
        },
        meanings={"type": {"create": "ADD", "insert": "ADD", "modify": "UPDATE", "edit": "UPDATE"}},
    )

    @property
    def merging(self) -> Merging:
        """Survivor and sources of a MERGE; by default the first bullet survives."""
        return Merging(self.bullet_id or next(iter(self.source_ids), ""), self.source_ids)

    @field_validator("bullet_id")
    @classmethod
    def _no_blank_id(cls, value: str | None) -> str | None:
        return (value or "").strip() or None


class DeltaBatch(EntryReply):
    """What the Curator proposes for one turn."""

    reasoning: str = Field(default="", description="Why these changes, in short.")
    operations: list[DeltaOperation] = Field(
        default_factory=list, description="Small changes, in order; empty when nothing was learned."
    )


class DeltaStatus(StrEnum):
    """Status of an operation."""

    APPLIED = "applied"
    HELD = "held"
    REJECTED = "rejected"


class DeltaResult(Value):
    """Result of an operation: its status and a reason code."""

    type: DeltaType | Literal["UNREADABLE"]
    bullet_id: str | None = Field(description="The bullet it changed, or the one it named.")
    status: DeltaStatus
    reason: str = Field(description="'ok', or the reason code of why it was not applied.")


class Author(NamedTuple):
    """The author and time of a manual change."""

    user: str
    at: datetime


class PlaybookVersion(Value):
    """One version of a playbook, without its bullets."""

    version: int = Field(ge=1)
    digest: str | None = Field(
        description="Digest of its content; None if a program wrote it that did not keep digests."
    )
    at: datetime = Field(description="When its last record was made.")
    bullets: int | None = Field(description="How many bullets it has; None as above.")
    counts: dict[str, int] = Field(description="Applied records that led to it, by kind.")


class RefineStep(Value):
    """One step: a merge, or an archived bullet."""

    kind: DeltaKind = Field(description="MERGE or ARCHIVE.")
    bullet_id: str = Field(description="The bullet that stays (MERGE) or leaves (ARCHIVE).")
    content: str = Field(description="Its text.")
    reason: str = Field(
        description="'near_duplicate', 'net_harmful', 'stale', 'over_budget' or 'makes_room'."
    )
    source_ids: list[str] = Field(default_factory=list, description="MERGE: the merged bullets.")
    source_contents: list[str] = Field(default_factory=list, description="MERGE: their texts.")
