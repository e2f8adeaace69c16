"""Output schema of the Curator, and what became of each operation."""

from enum import StrEnum

from pydantic import Field, field_validator

from schemas.base import Value


class DeltaType(StrEnum):
    """Kind of operation on a playbook."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    REMOVE = "REMOVE"


class DeltaOperation(Value):
    """One small change. Never a rewrite of the playbook."""

    type: DeltaType = Field(description="ADD, UPDATE or REMOVE.")
    section: str = Field(default="", description="Section of the bullet, e.g. 'strategies'.")
    content: str | None = Field(default=None, description="Text of the bullet; ADD and UPDATE.")
    bullet_id: str | None = Field(default=None, description="The bullet; UPDATE and REMOVE.")

    @field_validator("type", mode="before")
    @classmethod
    def _any_case(cls, value: object) -> object:
        return value.strip().upper() if isinstance(value, str) else value

    @field_validator("section", mode="before")
    @classmethod
    def _no_section(cls, value: object) -> object:
        return "" if value is None else value

    @field_validator("bullet_id")
    @classmethod
    def _no_blank_id(cls, value: str | None) -> str | None:
        return (value or "").strip() or None


class DeltaBatch(Value):
    """What the Curator proposes for one turn."""

    reasoning: str = Field(default="", description="Why these changes, in short.")
    operations: list[DeltaOperation] = Field(
        default_factory=list, description="Small changes, in order; empty when nothing was learnt."
    )


class DeltaStatus(StrEnum):
    """How an operation ended."""

    APPLIED = "applied"
    HELD = "held"
    REJECTED = "rejected"


class DeltaResult(Value):
    """An operation's end: its status and a reason code."""

    type: DeltaType
    bullet_id: str | None = Field(description="The bullet it changed, or the one it named.")
    status: DeltaStatus
    reason: str = Field(description="'ok', or the reason code of why it was not applied.")
