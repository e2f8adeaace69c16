"""Public contract: what the gate writes around a CCS. Defined in `acc_ace.schemas.commit`."""

from acc_ace.schemas.commit import (
    MAX_REPAIRS,
    CcsDiff,
    CommitKind,
    CommittedState,
    ConstraintPin,
    FieldChange,
    GoalPin,
    JournalEntry,
    Release,
    Repair,
    RuleScope,
)

__all__ = [
    "MAX_REPAIRS",
    "CcsDiff",
    "CommitKind",
    "CommittedState",
    "ConstraintPin",
    "FieldChange",
    "GoalPin",
    "JournalEntry",
    "Release",
    "Repair",
    "RuleScope",
]
