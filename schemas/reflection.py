"""Output schema of the Reflector (ACE, section 3.1)."""

from typing import Literal

from pydantic import Field, field_validator

from schemas.base import Value

Tag = Literal["helpful", "harmful", "neutral"]


class BulletTag(Value):
    """Whether one used bullet helped, harmed or neither."""

    id: str = Field(description="Id of a bullet that the Generator used.")
    tag: Tag

    @field_validator("tag", mode="before")
    @classmethod
    def _any_case(cls, value: object) -> object:
        return value.strip().lower() if isinstance(value, str) else value


class Reflection(Value):
    """What went right or wrong in a turn, and why."""

    reasoning: str = Field(default="", description="Analysis of the turn.")
    error_identification: str = Field(default="", description="What went wrong, if anything.")
    root_cause_analysis: str = Field(default="", description="Why it went wrong.")
    correct_approach: str = Field(default="", description="What should be done instead.")
    key_insight: str = Field(default="", description="The lesson to keep, if any.")
    bullet_tags: list[BulletTag] = Field(default_factory=list)
    corrects_previous: bool = Field(
        default=False, description="Whether the current input corrects the previous answer."
    )
    previous_bullet_tags: list[BulletTag] = Field(
        default_factory=list,
        description="Tags of bullets that the corrected answer used; empty without a correction.",
    )
