"""Public contract: bounds of all that could grow. Defined in `acc_ace.core.schemas.limits`."""

from acc_ace.core.schemas.limits import (
    BackgroundLimits,
    Limits,
    RecallWeights,
)

__all__ = [
    "BackgroundLimits",
    "Limits",
    "RecallWeights",
]
