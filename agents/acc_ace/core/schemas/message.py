"""A session's turns as messages: what was said, tool calls and their results."""

from datetime import datetime
from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from acc_ace.core.schemas.base import Authority, Value
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
