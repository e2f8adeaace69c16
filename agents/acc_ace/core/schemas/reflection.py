"""Output schema of the Reflector (ACE, section 3.1), and the feedback that it learns from."""

import hashlib
import json
from datetime import datetime
from typing import Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from acc_ace.core.schemas.base import ReplyValue, Value

MOST_TAGS = 1_024
"""Tags of one reflection that are read; no turn uses as many bullets."""

Tag = Literal["helpful", "harmful", "neutral"]


class BulletTag(ReplyValue):
    """Whether one used bullet helped, harmed or neither."""

    id: str = Field(max_length=256, description="Id of a bullet that the Generator used.")
    tag: Tag

    @field_validator("tag", mode="before")
    @classmethod
    def _any_case(cls, value: object) -> object:
        return value.strip().lower() if isinstance(value, str) else value


class Reflection(ReplyValue):
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

    @field_validator(
        "reasoning",
        "error_identification",
        "root_cause_analysis",
        "correct_approach",
        "key_insight",
        mode="before",
    )
    @classmethod
    def _no_text(cls, value: object) -> object:
        """Null is nothing; several texts are one."""
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return " ".join(value)
        return "" if value is None else value

    @field_validator("corrects_previous", mode="before")
    @classmethod
    def _no_verdict(cls, value: object) -> object:
        return False if value is None else value

    @field_validator("bullet_tags", "previous_bullet_tags", mode="before")
    @classmethod
    def _readable_tags(cls, value: object) -> object:
        """A tag of no known form must not cost the reflection; it counts for nothing."""
        if value is None:
            return []
        if isinstance(value, dict):
            value = [{"id": key, "tag": tag} for key, tag in value.items()]
        if not isinstance(value, list):
            return value
        read = (_read(item) for item in value[:MOST_TAGS])
        return [tag for tag in read if tag is not None]


def _read(item: object) -> BulletTag | None:
    try:
        return BulletTag.model_validate(item)
    except ValidationError:
        return None


MAX_FEEDBACK = 16
"""Pieces of feedback that one turn takes."""

MAX_WORDS = 8_000
"""Characters of a ground truth or a comment."""


class Judgement(Value):
    """A rating of an answer, by a person or an environment; one of the four is required."""

    thumbs: Literal["up", "down"] | None = Field(
        default=None, description="A person's verdict on the answer."
    )
    reward: float | None = Field(
        default=None,
        allow_inf_nan=False,
        description="An environment's reward: above 0 is good, below 0 is bad; any unit.",
    )
    ground_truth: str | None = Field(
        default=None, min_length=1, max_length=MAX_WORDS, description="The correct answer."
    )
    comment: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_WORDS,
        description="What was good or bad, in words.",
    )

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.model_dump(include=set(Judgement.model_fields), exclude_none=True):
            return self
        raise ValueError("give at least one of thumbs, reward, ground_truth and comment")

    @property
    def digest(self) -> str:
        """32 hexadecimal digits; the same judgement has the same ones."""
        text = json.dumps(self.judgement(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def judgement(self) -> dict[str, object]:
        """The rating without id and time, for prompts and comparison."""
        return self.model_dump(mode="json", include=set(Judgement.model_fields), exclude_none=True)

    def sent_with_turn(self, at: datetime) -> "Feedback":
        """The same as evidence of the turn that it came with."""
        return Feedback(**self.judgement(), id=self.digest, created_at=at, with_turn=True)


class Feedback(Judgement):
    """A judgement stored with the evidence of its turn."""

    id: str = Field(
        min_length=1, max_length=128, description="Idempotency key: each id is learned from once."
    )
    learned: bool = Field(default=False, description="Whether reflection on it is done.")
    with_turn: bool = Field(
        default=False,
        exclude_if=lambda came: not came,
        description="Whether it came with the turn, and is reflected on with it.",
    )
    created_at: datetime
