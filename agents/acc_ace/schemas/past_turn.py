"""A turn read from session events, to be offloaded to long-term memory."""

from datetime import datetime

from pydantic import Field

from acc_ace.schemas.base import Value


class Utterance(Value):
    """A message, tool call or tool result of a turn."""

    speaker: str = Field(description="'user', an agent's name, or 'tool'.")
    text: str


class PastTurn(Value):
    """The messages of one invocation, in order."""

    invocation_id: str
    at: datetime = Field(description="Time of its first event.")
    said: list[Utterance] = Field(default_factory=list)
