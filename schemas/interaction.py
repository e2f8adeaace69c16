"""Public contract: a turn as evidence. Defined in `acc_ace.schemas.interaction`."""

from acc_ace.schemas.interaction import (
    Attachment,
    Interaction,
    Outcome,
    ToolCall,
    ToolResult,
    ToolStart,
    TurnInput,
)

__all__ = [
    "Attachment",
    "Interaction",
    "Outcome",
    "ToolCall",
    "ToolResult",
    "ToolStart",
    "TurnInput",
]
