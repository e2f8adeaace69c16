"""Public contract: which candidates may pass. Defined in `acc_ace.core.schemas.qualification`."""

from acc_ace.core.schemas.qualification import (
    Qualification,
    QualificationReason,
    QualificationVerdict,
    RelevanceBatch,
    RelevanceDecision,
)

__all__ = [
    "Qualification",
    "QualificationReason",
    "QualificationVerdict",
    "RelevanceBatch",
    "RelevanceDecision",
]
