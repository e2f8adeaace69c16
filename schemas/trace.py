"""Public contract: calls of a turn's models. Defined in `acc_ace.core.schemas.trace`."""

from acc_ace.core.schemas.trace import (
    ModelCall,
    RecalledCandidate,
    RequestPart,
    TurnTrace,
    clipped,
)

__all__ = [
    "ModelCall",
    "RecalledCandidate",
    "RequestPart",
    "TurnTrace",
    "clipped",
]
