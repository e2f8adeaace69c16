"""Count tokens as the answering model does, where it can; else by the calibrated estimate."""

import logging
from collections.abc import Sequence
from math import ceil
from typing import Protocol, runtime_checkable

from google.adk.models.base_llm import BaseLlm

from acc_ace.ext.strategies.memory import CountedMessage, Message
from acc_ace.ext.strategies.memory_strategy import EstimatedTokens, TokenCounter
from acc_ace.ext.strategies.transcript import estimate_message, message_text
from acc_ace.models.resilient import ResilientLlm

_log = logging.getLogger(__name__)

_CACHED = 4_096
"""Texts whose count is cached, least recently used evicted first."""


@runtime_checkable
class CountsTokens(Protocol):
    """A model that can count without answering."""

    async def count_tokens(self, text: str) -> int:
        """Tokens of a text as the model reads it."""
        ...


class ModelTokens:
    """A TokenCounter over a model's own count: one call for all messages that are new to it.

    The call's total is shared out in proportion to the estimates and rounded up, so the parts
    never add up to less. A model that cannot be reached is replaced by the estimate.
    """

    def __init__(self, model: CountsTokens) -> None:
        self._model = model
        self._known: dict[str, int] = {}

    async def count(self, messages: Sequence[Message]) -> list[CountedMessage]:
        """Each message with its tokens."""
        by_text = {message_text(message): message for message in messages}
        # Read before the model is called: another turn may evict them in the meantime.
        counts = {text: self._known[text] for text in by_text if text in self._known}
        new = {text: message for text, message in by_text.items() if text not in counts}
        if new:
            learnt = await self._learn(new)
            if not learnt:
                return await EstimatedTokens().count(messages)
            counts |= learnt
        self._keep(counts)
        return [CountedMessage(message, counts[message_text(message)]) for message in messages]

    def _keep(self, counts: dict[str, int]) -> None:
        for text in counts:
            self._known.pop(text, None)
        self._known |= counts
        for text in list(self._known)[: max(0, len(self._known) - _CACHED)]:
            del self._known[text]

    async def _learn(self, new: dict[str, Message]) -> dict[str, int]:
        """Counts of texts; none when the model cannot be reached."""
        try:
            own = await self._model.count_tokens("\n".join(new))
        except Exception as error:  # noqa: BLE001 - whatever a client raises, the estimate serves
            _log.warning("tokens_estimated error=%s", type(error).__name__)
            return {}
        estimates = {text: estimate_message(message) for text, message in new.items()}
        share = own / max(1, sum(estimates.values()))
        return {text: max(1, ceil(size * share)) for text, size in estimates.items()}


def token_counter(model: BaseLlm) -> TokenCounter:
    """The counter of a model: its own where it has one."""
    counting = model.primary if isinstance(model, ResilientLlm) else model
    return ModelTokens(counting) if isinstance(counting, CountsTokens) else EstimatedTokens()
