"""Public contract: sessions. Defined in `acc_ace.core.schemas.session`."""

from acc_ace.core.schemas.session import (
    ConversationSummary,
    PastTurn,
    ReadThrough,
    SessionMemory,
    SessionRecord,
    Utterance,
)

__all__ = [
    "ConversationSummary",
    "PastTurn",
    "ReadThrough",
    "SessionMemory",
    "SessionRecord",
    "Utterance",
]
