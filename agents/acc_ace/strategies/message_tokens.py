"""Tokens of messages without a model: the estimate that is used everywhere."""

from collections.abc import Sequence

from acc_ace.schemas.memory import CountedMessage
from acc_ace.schemas.message import Message
from acc_ace.strategies.transcript import estimate_message


class EstimatedTokens:
    """A TokenCounter that asks nobody."""

    async def count(self, messages: Sequence[Message]) -> list[CountedMessage]:
        """Each message with its estimate."""
        return [CountedMessage(message, estimate_message(message)) for message in messages]
