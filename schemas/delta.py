"""Public contract: the Curator's operations. Defined in `acc_ace.schemas.delta`."""

from acc_ace.schemas.delta import (
    MOST_READ,
    MOST_SOURCES,
    UNREADABLE,
    DeltaBatch,
    DeltaKind,
    DeltaOperation,
    DeltaResult,
    DeltaStatus,
    DeltaType,
    Merging,
    Priority,
)

__all__ = [
    "MOST_READ",
    "MOST_SOURCES",
    "UNREADABLE",
    "DeltaBatch",
    "DeltaKind",
    "DeltaOperation",
    "DeltaResult",
    "DeltaStatus",
    "DeltaType",
    "Merging",
    "Priority",
]
