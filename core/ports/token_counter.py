"""Tokens of messages, as the model that will read them counts."""

from collections.abc import Sequence
from typing import Protocol

from schemas.memory import CountedMessage
from schemas.message import Message


class TokenCounter(Protocol):
    """Counts messages before they are added to a context."""

    async def count(self, messages: Sequence[Message]) -> list[CountedMessage]:
        """Each message with its tokens, in order. Never fails: without the model it estimates."""
        ...
