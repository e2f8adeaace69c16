"""Tokens of messages without a model: the estimate that is used everywhere."""

from collections.abc import Sequence

from core.domain.transcript import estimate_message
from schemas.memory import CountedMessage
from schemas.message import Message


class EstimatedTokens:
    """A TokenCounter that asks nobody."""

    async def count(self, messages: Sequence[Message]) -> list[CountedMessage]:
        """Each message with its estimate."""
        return [CountedMessage(message, estimate_message(message)) for message in messages]
