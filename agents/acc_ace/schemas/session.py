"""Session metadata: creation, last activity, summary and offload progress."""

from datetime import datetime

from pydantic import Field

from acc_ace.schemas.base import StoredValue, Value
from acc_ace.schemas.memory import Summary
from acc_ace.schemas.memory_name import MemoryName


class ReadThrough(Value):
    """Read position in a session: the last turn and its invocation."""

    turn: int = Field(ge=1)
    invocation_id: str


class SessionRecord(StoredValue):
    """One session of a user. Its state is in the journal, its turns in the evidence."""

    session: str
    created_at: datetime
    active_at: datetime = Field(description="Start of its last turn.")
    memory: MemoryName = Field(default="acc", description="Strategy of its last turn.")
    history_from: int = Field(
        default=0, ge=0, description="Turn of the last reset; earlier messages are ignored."
    )
    summary: Summary | None = Field(default=None, description="The latest finished summary.")
    restores: int = Field(
        default=0,
        ge=0,
        exclude_if=lambda times: times == 0,
        description="Number of rollbacks; work started before the latest one is discarded.",
    )
    offloaded_at: datetime | None = Field(
        default=None, description="When its history last went to long-term memory."
    )
    offloaded_through: ReadThrough | None = Field(
        default=None,
        exclude_if=lambda through: through is None,
        description="The last turn that went there; the next offload goes on behind it.",
    )
    notes: list[str] = Field(
        default_factory=list, description="Ids of the artifacts that came of it."
    )
    notes_left: list[str] = Field(
        default_factory=list,
        exclude_if=lambda notes: not notes,
        description="Those of them that a deleted session of its name left; they outlive it too.",
    )
    ended: bool = Field(
        default=False,
        exclude_if=lambda ended: not ended,
        description="All else of it is deleted: the next turn begins another session.",
    )
    deleted_at: datetime | None = Field(
        default=None, description="Deleted, its notes kept with the user's consent."
    )
