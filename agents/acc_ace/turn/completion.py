"""A structured model call, by an ADK agent or a plain client."""

from dataclasses import dataclass, field
from typing import Protocol

from acc_ace.text.prompt import Prompt


@dataclass(frozen=True)
class Reply:
    """A model's complete reply and its token use."""

    text: str
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    warnings: tuple[str, ...] = field(default=())


class Completion(Protocol):
    """Call the model of one role with its output schema."""

    async def complete(self, prompt: Prompt, user_text: str) -> Reply:
        """Make one call. Raises ModelError if the model does not answer."""
        ...
