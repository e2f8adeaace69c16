"""Result of refining a playbook, or of a dry run."""

from pydantic import Field

from acc_ace.schemas.base import Value
from acc_ace.schemas.delta import DeltaKind


class RefineStep(Value):
    """One step: a merge, or an archived bullet."""

    kind: DeltaKind = Field(description="MERGE or ARCHIVE.")
    bullet_id: str = Field(description="The bullet that stays (MERGE) or leaves (ARCHIVE).")
    content: str = Field(description="Its text.")
    reason: str = Field(
        description="'near_duplicate', 'same_meaning', 'net_harmful', 'stale', 'over_budget' or "
        "'makes_room'."
    )
    source_ids: list[str] = Field(default_factory=list, description="MERGE: the merged bullets.")
    source_contents: list[str] = Field(default_factory=list, description="MERGE: their texts.")
