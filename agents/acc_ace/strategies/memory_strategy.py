"""Memory strategies: what the agent sees of the conversation."""

from typing import Protocol

from acc_ace.schemas.memory import MemoryContext, MemoryInputs


class MemoryStrategy(Protocol):
    """Choose the messages of a request. A pure function of its inputs."""

    def context(self, inputs: MemoryInputs) -> MemoryContext:
        """Return the messages: system prompt first, x_t last.

        The system prompt and x_t are never dropped; a call and its results stay together.
        Raises InputTooLargeError if these alone exceed the budget.
        """
        ...
