"""What memory did in one turn: the object that `--json` and `/v1` return."""

from typing import Any

from pydantic import ConfigDict, Field

from schemas.authority import Authority
from schemas.base import Value
from schemas.ccs import CompressedCognitiveState
from schemas.commit import CcsDiff
from schemas.memory_name import MemoryName


class ReportedConstraint(Value):
    """An active constraint with where it came from."""

    id: str
    text: str
    authority: Authority
    origin_turn: int


class ReportedVerdict(Value):
    """The qualification gate's word on one candidate."""

    artifact_id: str
    ok: bool
    reason: str


class ReportedDelta(Value):
    """One playbook operation and how it ended."""

    type: str
    status: str
    reason: str
    bullet_id: str | None = None


class TokenUse(Value):
    """Tokens of one stage: into and out of its model calls."""

    model_config = ConfigDict(populate_by_name=True, frozen=True, serialize_by_alias=True)

    input: int = Field(default=0, alias="in")
    output: int = Field(default=0, alias="out")


class TurnReport(Value):
    """One turn, told in full. Field names are a public contract."""

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
        default=None, description="With a classic memory: tokens of prompt, messages and x_t."
    )


class FeedbackReport(Value):
    """What became of feedback on a turn. Field names are a public contract."""

    id: str
    turn: int
    fresh: bool = Field(description="False when this feedback was kept already.")
    learned: bool = Field(description="Whether reflection on it is done.")
    deltas: list[ReportedDelta] = Field(description="Tags and operations, each with its end.")
    playbook_version: int
    warnings: list[str]
