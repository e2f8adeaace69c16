"""Public contract: what the gate writes around a CCS. Defined in `acc_ace.schemas.commit`."""

from acc_ace.schemas.commit import (
    CcsDiff,
    CommitKind,
    CommittedState,
    ConstraintPin,
    FieldChange,
    GoalPin,
    JournalEntry,
    Release,
    Repair,
)

__all__ = [
    "CcsDiff",
    "CommitKind",
    "CommittedState",
    "ConstraintPin",
    "FieldChange",
    "GoalPin",
    "JournalEntry",
    "Release",
    "Repair",
]
