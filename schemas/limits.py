"""Public contract: bounds of everything that could grow. Defined in `acc_ace.schemas.limits`."""

from acc_ace.schemas.limits import (
    BackgroundLimits,
    Limits,
    RecallWeights,
)

__all__ = [
    "BackgroundLimits",
    "Limits",
    "RecallWeights",
]
