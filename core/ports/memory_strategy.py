"""What the agent knows of the conversation, by one of several strategies."""

from typing import Protocol

from schemas.memory import MemoryContext, MemoryInputs


class MemoryStrategy(Protocol):
    """Chooses the messages of a request. Pure: all data comes in, nothing is kept."""

    def context(self, inputs: MemoryInputs) -> MemoryContext:
        """System prompt first, x_t last, whatever the strategy keeps in between.

        The system prompt and x_t are never dropped; a call and its results are never parted.
        Raises InputTooLargeError when what may not be dropped is over the budget.
        """
        ...
