"""Report of a turn: the object that `--json` and `/v1` return."""

from typing import Any

from pydantic import ConfigDict, Field

from acc_ace.schemas.authority import Authority
from acc_ace.schemas.base import Value
from acc_ace.schemas.ccs import CompressedCognitiveState
from acc_ace.schemas.commit import CcsDiff
from acc_ace.schemas.memory_name import MemoryName


class ReportedConstraint(Value):
    """An active constraint with its origin."""

    id: str
    text: str
    authority: Authority
    origin_turn: int


class ReportedVerdict(Value):
    """The qualification gate's verdict on one candidate."""

    artifact_id: str
    ok: bool
    reason: str


class ReportedDelta(Value):
    """One playbook operation and its result."""

    type: str
    status: str
    reason: str
    bullet_id: str | None = None


class TokenUse(Value):
    """Input and output tokens of one stage."""

    model_config = ConfigDict(populate_by_name=True, frozen=True, serialize_by_alias=True)

    input: int = Field(default=0, alias="in")
    output: int = Field(default=0, alias="out")


class TurnReport(Value):
    """Full report of one turn. Field names are a public contract."""

    turn: int
    input: str
    answer: str
    ccs: CompressedCognitiveState
    ccs_diff: CcsDiff
    constraints: list[ReportedConstraint]
    recalled: list[str]
    qualified: list[ReportedVerdict]
    bullet_ids: list[str]
    deltas: list[ReportedDelta]
    playbook_version: int
    tokens: dict[str, TokenUse]
    ms: dict[str, float]
    model: dict[str, str]
    warnings: list[str]
    session: str = ""
    ccs_version: int = 0
    ccs_tokens: int = 0
    ccs_budget: int = 0
    tool_calls: list[dict[str, Any]] = Field(default_factory=list)
    memory: MemoryName = "acc"
    context_tokens: int | None = Field(
        default=None, description="With a classic strategy: tokens of prompt, messages and x_t."
    )


class FeedbackReport(Value):
    """Result of feedback on a turn. Field names are a public contract."""

    id: str
    turn: int
    fresh: bool = Field(description="False if this feedback was already stored.")
    learned: bool = Field(description="Whether reflection on it is done.")
    deltas: list[ReportedDelta] = Field(description="Tags and operations, each with its result.")
    playbook_version: int
    warnings: list[str]
