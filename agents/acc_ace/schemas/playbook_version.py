"""Versions and branches of a playbook, and the result of refining it."""

from datetime import datetime

from pydantic import Field

from acc_ace.schemas.base import PlaybookScope, Value
from acc_ace.schemas.delta import DeltaKind


class PlaybookVersion(Value):
    """One version of a playbook, without its bullets."""

    version: int = Field(ge=1)
    digest: str | None = Field(
        description="Digest of its content; None if a program wrote it that did not keep digests."
    )
    at: datetime = Field(description="When its last record was made.")
    bullets: int | None = Field(description="How many bullets it has; None as above.")
    counts: dict[str, int] = Field(description="Applied records that led to it, by kind.")


class Branch(Value):
    """A branch: an independent copy of a playbook version."""

    scope: PlaybookScope
    version: int = Field(ge=0, description="Its current version, counted from its own beginning.")
    digest: str
    bullets: int
    parent: str | None = Field(
        description="The branch it was forked from, '' is the main one; None if that is gone."
    )
    parent_version: int


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
