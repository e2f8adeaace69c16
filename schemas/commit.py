"""Public contract: what the gate writes around a CCS. Defined in `acc_ace.core.schemas.commit`."""

from acc_ace.core.schemas.commit import (
    MAX_REPAIRS,
    CcsDiff,
    ChangeKind,
    CommitKind,
    CommittedState,
    CompressorReply,
    ConstraintPin,
    FieldChange,
    GoalPin,
    JournalEntry,
    OpenQuestion,
    Release,
    Repair,
    RuleChange,
    RuleScope,
    ToolCheck,
)

__all__ = [
    "MAX_REPAIRS",
    "CcsDiff",
    "ChangeKind",
    "CommitKind",
    "CommittedState",
    "CompressorReply",
    "ConstraintPin",
    "FieldChange",
    "GoalPin",
    "JournalEntry",
    "OpenQuestion",
    "Release",
    "Repair",
    "RuleChange",
    "RuleScope",
    "ToolCheck",
]
