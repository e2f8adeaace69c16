"""Sessions: the keys that separate apps, users and sessions, and the metadata of a session.

Also what an offload reads and writes of it: turns of session events, notes, and a summary of old
turns.
"""

from datetime import datetime
from operator import not_

from pydantic import Field

from acc_ace.core.schemas.base import ReplyHints, ReplyValue, StoredValue, Value


class ReadThrough(Value):
    """Read position in a session: the last turn and its invocation."""

    turn: int = Field(ge=1)
    invocation_id: str


class SessionRecord(StoredValue):
    """One session of a user. Its state is in the journal, its turns in the evidence."""

    session: str
    created_at: datetime
    active_at: datetime = Field(description="Start of its last turn.")
    history_from: int = Field(
        default=0, ge=0, description="Turn of the last reset; earlier messages are ignored."
    )
    restores: int = Field(
        default=0,
        ge=0,
        exclude_if=not_,
        description="Number of rollbacks; work started before the latest one is discarded.",
    )
    offloaded_at: datetime | None = Field(
        default=None, description="When its history last went to long-term memory."
    )
    offloaded_through: ReadThrough | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="The last offloaded turn; the next offload continues after it.",
    )
    notes: list[str] = Field(
        default_factory=list, description="Ids of the artifacts that came of it."
    )
    notes_left: list[str] = Field(
        default_factory=list,
        exclude_if=not_,
        description="Those of them that a deleted session of its name left; they outlive it too.",
    )
    ended: bool = Field(
        default=False,
        exclude_if=not_,
        description="All else of it is deleted: the next turn starts a new session.",
    )
    deleted_at: datetime | None = Field(
        default=None, description="Deleted, its notes kept with the user's consent."
    )


class SessionMemory(ReplyValue):
    """What is worth knowing of a session later on."""

    entities: list[str] = Field(default_factory=list, description="Typed: 'server:db-01'.")
    preferences: list[str] = Field(default_factory=list, description="Quotes of the user.")
    lessons: list[str] = Field(default_factory=list, description="Quotes of user or tools.")


class ConversationSummary(ReplyValue):
    """Old turns in a few sentences."""

    summary: str = Field(description="The text that replaces the turns.")

    hints = ReplyHints(other_names={"summary": ("text",)})


class Utterance(Value):
    """A message, tool call or tool result of a turn."""

    speaker: str = Field(description="'user', an agent's name, or 'tool'.")
    text: str


class PastTurn(Value):
    """The messages of one invocation, in order."""

    invocation_id: str
    at: datetime = Field(description="Time of its first event.")
    said: list[Utterance] = Field(default_factory=list)
