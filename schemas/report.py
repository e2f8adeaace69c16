"""Public contract: the report of a turn. Defined in `acc_ace.schemas.report`."""

from acc_ace.schemas.report import (
    FeedbackReport,
    ReportedConstraint,
    ReportedDelta,
    ReportedVerdict,
    TokenUse,
    TurnReport,
)

__all__ = [
    "FeedbackReport",
    "ReportedConstraint",
    "ReportedDelta",
    "ReportedVerdict",
    "TokenUse",
    "TurnReport",
]
