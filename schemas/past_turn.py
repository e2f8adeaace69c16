"""A turn as a session's events hold it, on its way to long-term memory."""

from datetime import datetime

from pydantic import Field

from schemas.base import Value


class Utterance(Value):
    """Something said, called or returned in a turn."""

    speaker: str = Field(description="'user', an agent's name, or 'tool'.")
    text: str


class PastTurn(Value):
    """What was said in one invocation, in order."""

    invocation_id: str
    at: datetime = Field(description="Time of its first event.")
    said: list[Utterance] = Field(default_factory=list)
