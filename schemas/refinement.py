"""What refining a playbook did, or would do."""

from pydantic import Field

from schemas.base import Value
from schemas.delta import DeltaKind


class RefineStep(Value):
    """One step: a merge into a bullet, or a bullet that leaves for the archive."""

    kind: DeltaKind = Field(description="MERGE or ARCHIVE.")
    bullet_id: str = Field(description="The bullet that stays (MERGE) or leaves (ARCHIVE).")
    content: str = Field(description="Its text.")
    reason: str = Field(
        description="'near_duplicate', 'same_meaning', 'net_harmful', 'stale', 'over_budget' or "
        "'makes_room'."
    )
    source_ids: list[str] = Field(default_factory=list, description="MERGE: bullets taken in.")
    source_contents: list[str] = Field(default_factory=list, description="MERGE: their texts.")
