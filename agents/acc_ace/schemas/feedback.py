"""Feedback on a finished turn: what the Reflector learns from besides the turn itself.

ACE (arXiv 2510.04618, section 3) calls these execution signals and ground truth. A correction
that a user types as the next input is no Feedback value: the Reflector finds it in that input.
"""

from datetime import datetime
from typing import Literal, Self

from pydantic import Field, model_validator

from acc_ace.schemas.base import Value

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

    def judgement(self) -> dict[str, object]:
        """The rating without id and time, for prompts and comparison."""
        return self.model_dump(mode="json", include=set(Judgement.model_fields), exclude_none=True)


class Feedback(Judgement):
    """A judgement stored with the evidence of its turn."""

    id: str = Field(
        min_length=1, max_length=128, description="Idempotency key: each id is learned from once."
    )
    learned: bool = Field(default=False, description="Whether reflection on it is done.")
    created_at: datetime
