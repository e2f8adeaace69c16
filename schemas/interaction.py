"""What came in, what was done, what came out: one turn as evidence."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import Field

from schemas.authority import Authority
from schemas.base import StoredValue, Value
from schemas.feedback import Feedback
from schemas.generation import GeneratorOutput
from schemas.memory_name import MemoryName


class TurnInput(Value):
    """x_t: what arrives before the agent acts; user text, or a tool's or environment's result."""

    text: str
    authority: Authority = Authority.USER


class ToolCall(Value):
    """A tool the Generator called."""

    id: str
    name: str
    args: dict[str, Any] = Field(default_factory=dict)
    step: int = Field(
        default=0,
        ge=0,
        exclude_if=lambda step: step == 0,
        description="Model call of the turn that made it; parallel calls share it.",
    )


class ToolResult(Value):
    """What a tool returned; `result` is bounded text."""

    tool_call_id: str
    name: str
    result: str
    is_error: bool = False
    whole: str | None = Field(
        default=None,
        exclude_if=lambda whole: whole is None,
        description="All of a result that the model saw cut. Never goes into a prompt.",
    )


class Outcome(StrEnum):
    """How a turn ended."""

    ANSWERED = "answered"
    FAILED = "failed"
    UNDONE = "undone"


class Interaction(StoredValue):
    """One turn: input, tool loop and decision. The evidence that outlives the CCS."""

    turn: int
    invocation_id: str
    input: TurnInput
    tool_calls: list[ToolCall] = Field(default_factory=list)
    tool_results: list[ToolResult] = Field(default_factory=list)
    decision: GeneratorOutput | None = None
    outcome: Outcome = Outcome.ANSWERED
    ccs_version: int = 0
    playbook_version: int = 0
    memory: MemoryName = Field(
        default="acc",
        exclude_if=lambda name: name == "acc",
        description="Memory strategy that the turn was run with.",
    )
    models: dict[str, str] = Field(default_factory=dict)
    prompt_hashes: dict[str, str] = Field(default_factory=dict)
    feedback: tuple[Feedback, ...] = Field(
        default=(),
        exclude_if=lambda given: not given,
        description="What was said of the answer afterwards, oldest first.",
    )
    created_at: datetime
