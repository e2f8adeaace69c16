"""Memory strategies: their names, the messages they see, and the context they give."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Self

from pydantic import Field, model_validator

from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.schemas.base import Authority, StoredValue, Value
from acc_ace.core.schemas.commit import CommittedState
from acc_ace.core.schemas.interaction import ToolCall, ToolResult


class MessageRole(StrEnum):
    """Role of a message. `system` is the system prompt or a summary of older messages."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Message(Value):
    """One message. Tool calls and results are matched by `id` and `tool_call_id`.

    Raises ValidationError when the parts do not fit the role: calls are the assistant's, results
    are a tool's and its only content.
    """

    id: str = Field(description="Unique within the session: 'turn:number'.")
    timestamp: datetime
    role: MessageRole
    content: str | None = Field(default=None, description="None for calls and results.")
    tool_calls: list[ToolCall] = Field(default_factory=list, description="Made in parallel.")
    tool_results: list[ToolResult] = Field(default_factory=list)
    turn: int = Field(default=0, ge=0, description="Turn it belongs to; 0 for system messages.")
    authority: Authority = Field(
        default=Authority.USER,
        description="Authority of x_t, which may differ from the role.",
    )

    @model_validator(mode="after")
    def _fits_its_role(self) -> Self:
        if self.tool_calls and self.role is not MessageRole.ASSISTANT:
            raise ValueError(f"a {self.role} message cannot call tools; only the assistant can")
        if bool(self.tool_results) != (self.role is MessageRole.TOOL):
            raise ValueError("tool results are allowed in tool messages only")
        if self.content is None and not self.tool_calls and not self.tool_results:
            raise ValueError(f"message {self.id!r} says nothing")
        return self


class CountedMessage(NamedTuple):
    """A message with its token count."""

    message: Message
    tokens: int


class Summary(StoredValue):
    """A summary of the turns up to `through_turn`."""

    content: str
    through_turn: int = Field(ge=0, description="The last turn that it covers.")
    from_turn: int = Field(default=1, ge=0, description="The first turn that it covers.")
    model: str = Field(default="", description="Who wrote it.")
    restores: int = Field(
        default=0,
        ge=0,
        exclude_if=lambda times: times == 0,
        description="The session's `restores` when the summary was started.",
    )
    session_started: datetime | None = Field(
        default=None,
        exclude_if=lambda at: at is None,
        description="The `created_at` of the session that it is of.",
    )
    created_at: datetime


class MemoryInputs(Value):
    """Everything a strategy may read. Strategies are stateless."""

    system: CountedMessage = Field(description="The system prompt.")
    incoming: CountedMessage = Field(description="x_t.")
    messages: list[CountedMessage] = Field(
        default_factory=list, description="Earlier messages, oldest first."
    )
    more: bool = Field(default=False, description="Whether older ones were left unread.")
    summary: Summary | None = None
    recalled: list[Artifact] = Field(default_factory=list, description="Best first.")
    state: CommittedState = Field(default_factory=CommittedState)
    budget: int = Field(ge=1, description="Tokens of the whole context.")


class MemoryContext(Value):
    """The messages of a request: system prompt first, x_t last."""

    messages: list[Message]
    tokens: int = Field(description="Of all messages together.")
    dropped: int = Field(default=0, description="Known earlier messages that were left out.")
