"""Public contract: the Curator's operations. Defined in `acc_ace.schemas.delta`."""

from acc_ace.schemas.delta import (
    MOST_READ,
    MOST_SOURCES,
    UNREADABLE,
    Branch,
    DeltaBatch,
    DeltaKind,
    DeltaOperation,
    DeltaResult,
    DeltaStatus,
    DeltaType,
    Merging,
    PlaybookVersion,
    Priority,
    RefineStep,
)

__all__ = [
    "MOST_READ",
    "MOST_SOURCES",
    "UNREADABLE",
    "Branch",
    "DeltaBatch",
    "DeltaKind",
    "DeltaOperation",
    "DeltaResult",
    "DeltaStatus",
    "DeltaType",
    "Merging",
    "PlaybookVersion",
    "Priority",
    "RefineStep",
]
