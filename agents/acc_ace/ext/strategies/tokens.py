"""Count messages as the answering model does, where it can; else by the calibrated estimate."""

import logging
from collections.abc import Callable, Sequence
from math import ceil
from typing import Protocol

from acc_ace.core.schemas.message import Message
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.turn.transcript import message_text

_log = logging.getLogger(__name__)

Count = Callable[[Message], int]
"""Tokens of one message in a prompt."""

_MESSAGE_TOKENS = 4
"""Tokens of a message on top of its text: role and separators of current chat formats."""


class CountsTokens(Protocol):
    """A model that can count without answering."""

    async def count_tokens(self, text: str) -> int:
        """Tokens of a text as the model reads it."""
        ...


def estimated(message: Message) -> int:
    """Tokens of a message by the estimate that is used everywhere."""
    return _MESSAGE_TOKENS + estimate_tokens(message_text(message))


async def counted_by(model: CountsTokens, messages: Sequence[Message]) -> Count:
    """A count of these messages as the model counts, with one call.

    Its total is shared out in proportion to the estimates and rounded up, so the parts never add
    up to less. Other messages, and all if the model cannot be reached, are estimated.
    """
    sizes = {message_text(message): estimated(message) for message in messages}
    try:
        total = await model.count_tokens("\n".join(sizes)) if sizes else 0
    except Exception as error:  # noqa: BLE001 - whatever a client raises, the estimate serves
        _log.warning("tokens_estimated error=%s", type(error).__name__)
        return estimated
    share = total / max(1, sum(sizes.values()))
    counts = {text: max(1, ceil(size * share)) for text, size in sizes.items()}
    return lambda message: counts.get(message_text(message), estimated(message))
