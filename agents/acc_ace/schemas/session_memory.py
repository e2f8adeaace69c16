"""Output schemas of the background roles: notes of a session, and a summary of old turns."""

from pydantic import Field

from acc_ace.schemas.base import Value


class SessionMemory(Value):
    """What is worth knowing of a session later on."""

    entities: list[str] = Field(default_factory=list, description="Typed: 'server:db-01'.")
    preferences: list[str] = Field(default_factory=list, description="Quotes of the user.")
    lessons: list[str] = Field(default_factory=list, description="Quotes of user or tools.")


class ConversationSummary(Value):
    """Old turns in a few sentences."""

    summary: str = Field(description="The text that stands for the turns.")
