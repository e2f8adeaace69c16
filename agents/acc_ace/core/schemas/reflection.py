"""Output schema of the Reflector (ACE, section 3.1), and the feedback that it learns from."""

import hashlib
import json
from datetime import datetime
from operator import not_
from typing import Literal, Self

from pydantic import Field, model_validator

from acc_ace.core.schemas.base import EntryReply, ReplyHints, ReplyValue, Value

Tag = Literal["helpful", "harmful", "neutral"]
_TAGS = {"+1": "helpful", "有益": "helpful", "-1": "harmful", "有害": "harmful"}


class BulletTag(ReplyValue):
    """Whether one used bullet helped, harmed or neither."""

    id: str = Field(max_length=256)
    tag: Tag

    hints = ReplyHints({"id": ("bullet_id",)}, {"tag": _TAGS}, bare="tag", key="id")


class Reflection(EntryReply):
    """What went right or wrong in a turn, and why; `reflector.md` says what each field holds."""

    reasoning: str = ""
    error_identification: str = ""
    root_cause_analysis: str = ""
    correct_approach: str = ""
    key_insight: str = ""
    needs_text: bool = False
    bullet_tags: list[BulletTag] = Field(default_factory=list)
    corrects_previous: bool = False
    previous_bullet_tags: list[BulletTag] = Field(default_factory=list)


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
        exclude_if=not_,
        description="Whether it came with the turn, and is reflected on with it.",
    )
    created_at: datetime
