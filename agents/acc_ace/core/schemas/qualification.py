"""A_t+: which candidates the compressor may see, and why the others were rejected."""

from enum import StrEnum

from pydantic import Field

from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.schemas.base import EntryReply, ReplyHints, ReplyValue, Value


class QualificationReason(StrEnum):
    """Reason code of a verdict."""

    RELEVANT = "relevant"
    PREVIOUS_TURN = "previous_turn"
    OUT_OF_SCOPE = "out_of_scope"
    AUTHORITY = "authority"
    STALE = "stale"
    DUPLICATE = "duplicate"
    CONTRADICTS_CONSTRAINT = "contradicts_constraint"
    IMPERSONATION = "impersonation"
    INSTRUCTION_LIKE = "instruction_like"
    NOT_RELEVANT = "not_relevant"
    OVER_BUDGET = "over_budget"
    UNJUDGED = "unjudged"


class QualificationVerdict(Value):
    """The gate's verdict on one candidate."""

    artifact_id: str
    ok: bool
    reason: QualificationReason
    detail: str = ""


class Qualification(Value):
    """Verdicts on every candidate, and the qualified artifacts themselves."""

    verdicts: list[QualificationVerdict] = Field(default_factory=list)
    qualified: list[Artifact] = Field(default_factory=list)


class RelevanceDecision(ReplyValue):
    """The model's word on one candidate; `qualifier.md` says what each field holds."""

    artifact_id: str
    reason: str = ""
    relevant: bool

    hints = ReplyHints(
        other_names={"artifact_id": ("id", "candidate_id"), "relevant": ("is_relevant",)},
        meanings={"relevant": {"relevant": True, "irrelevant": False, "notrelevant": False}},
        bare="relevant",
        key="artifact_id",
    )


class RelevanceBatch(EntryReply):
    """Output schema of the Qualifier's one model call."""

    decisions: list[RelevanceDecision] = Field(default_factory=list)
