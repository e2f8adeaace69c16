"""Input and output of memory strategies."""

from datetime import datetime
from typing import NamedTuple

from pydantic import Field

from acc_ace.schemas.artifact import Artifact
from acc_ace.schemas.base import StoredValue, Value
from acc_ace.schemas.commit import CommittedState
from acc_ace.schemas.message import Message


class CountedMessage(NamedTuple):
    """A message with its token count."""

    message: Message
    tokens: int


class Summary(StoredValue):
    """A summary of the turns up to `through_turn`."""

    content: str
    through_turn: int = Field(ge=0, description="The last turn that it covers.")
    from_turn: int = Field(default=1, ge=0, description="The first turn that it covers.")
    model: str = Field(default="", description="Who wrote it.")
    restores: int = Field(
        default=0,
        ge=0,
        exclude_if=lambda times: times == 0,
        description="The session's `restores` when the summary was started.",
    )
    session_began: datetime | None = Field(
        default=None,
        exclude_if=lambda at: at is None,
        description="The `created_at` of the session that it is of.",
    )
    created_at: datetime


class MemoryInputs(Value):
    """Everything a strategy may read. Strategies are stateless."""

    system: CountedMessage = Field(description="The system prompt.")
    incoming: CountedMessage = Field(description="x_t.")
    messages: list[CountedMessage] = Field(
        default_factory=list, description="Earlier messages, oldest first."
    )
    more: bool = Field(default=False, description="Whether older ones were left unread.")
    summary: Summary | None = None
    recalled: list[Artifact] = Field(default_factory=list, description="Best first.")
    state: CommittedState = Field(default_factory=CommittedState)
    budget: int = Field(ge=1, description="Tokens of the whole context.")


class MemoryContext(Value):
    """The messages of a request: system prompt first, x_t last."""

    messages: list[Message]
    tokens: int = Field(description="Of all messages together.")
    dropped: int = Field(default=0, description="Known earlier messages that were left out.")
