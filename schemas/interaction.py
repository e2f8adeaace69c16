"""Public contract: a turn as evidence. Defined in `acc_ace.core.schemas.interaction`."""

from acc_ace.core.schemas.interaction import (
    AboutUser,
    ActVerdict,
    Attachment,
    GuardDecision,
    GuardJudge,
    GuardVerdict,
    Interaction,
    Outcome,
    ToolCall,
    ToolResult,
    ToolStart,
    TurnInput,
    sentence_number,
    unmarked,
)

__all__ = [
    "AboutUser",
    "ActVerdict",
    "Attachment",
    "GuardDecision",
    "GuardJudge",
    "GuardVerdict",
    "Interaction",
    "Outcome",
    "ToolCall",
    "ToolResult",
    "ToolStart",
    "TurnInput",
    "sentence_number",
    "unmarked",
]
