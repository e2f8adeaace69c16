"""Public contract: the Curator's operations. Defined in `acc_ace.core.schemas.delta`."""

from acc_ace.core.schemas.delta import (
    MOST_SOURCES,
    UNREADABLE,
    Author,
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
    "MOST_SOURCES",
    "UNREADABLE",
    "Author",
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
