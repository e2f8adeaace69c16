"""Token counting, as the target model does it."""

from collections.abc import Sequence
from typing import Protocol

from acc_ace.schemas.memory import CountedMessage
from acc_ace.schemas.message import Message


class TokenCounter(Protocol):
    """Count messages before they are added to a context."""

    async def count(self, messages: Sequence[Message]) -> list[CountedMessage]:
        """Return each message with its token count, in order. Estimates if the model fails."""
        ...
