"""One structured call to a model, whoever makes it: an ADK agent or a plain client."""

from dataclasses import dataclass, field
from typing import Protocol

from core.domain.prompt import Prompt


@dataclass(frozen=True)
class Reply:
    """What a model answered, in full, and what it cost in tokens."""

    text: str
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    warnings: tuple[str, ...] = field(default=())


class Completion(Protocol):
    """Calls the model of one role with its output schema."""

    async def complete(self, prompt: Prompt, user_text: str) -> Reply:
        """One call. Raises ModelError when the model did not answer."""
        ...
