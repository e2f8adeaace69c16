"""What is known of a user: which sentences a CCM points at, and the facts that they leave."""

import re
from datetime import date
from typing import Annotated, Final

from pydantic import Field, WithJsonSchema, model_validator

from acc_ace.core.schemas.base import ReplyHints, ReplyValue, Value


class AboutUser(ReplyValue):
    """A pointer by the CCM to a sentence in which the user says something lasting of themself.

    It has no authority: code keeps the user's own words or nothing.
    """

    subject: str = ""
    """What it is about, in a noun: a later sentence on the same subject takes its place."""
    sentence: Annotated[str | int | None, WithJsonSchema({"type": "integer"})] = None
    """Its number in the current input; other text here is taken for the quote."""
    quote: str = ""
    """The part of it that is meant, verbatim; empty for all of it."""

    hints = ReplyHints(
        other_names={
            "subject": ("topic", "about", "name", "key"),
            "sentence": ("number", "sentence_number", "no", "index"),
            "quote": ("text", "fact", "words", "content", "value"),
        },
        bare="quote",
        key="subject",
        content=("sentence", "quote"),
    )

    @property
    def number(self) -> int | None:
        """The number of the sentence."""
        return self.sentence if isinstance(self.sentence, int) else None

    @model_validator(mode="before")
    @classmethod
    def _pointed(cls, value: object) -> object:
        """The number and the quote from where models write them."""
        if not isinstance(value, dict):
            return value
        named, quote = value.get("sentence"), value.get("quote") or ""
        number = sentence_number(named)
        if number is None and (alone := sentence_number(quote)):
            number, quote = alone, ""
        words = quote or ("" if number else named) or ""
        return {**value, "sentence": number, "quote": unmarked(words)}


def unmarked(value: object) -> object:
    """Words without the numbers of sentences, which models copy along with them."""
    return _MARKS.sub("", value) if isinstance(value, str) else value


def sentence_number(value: object) -> int | None:
    """A sentence's number, also where it was written as '⟦2⟧'."""
    digits = str(value).strip(" ⟦⟧[]#.").removesuffix(".0") if value is not None else ""
    return int(digits) if digits.isdecimal() and len(digits) < _DIGITS else None


_DIGITS: Final = 6
_MARKS: Final = re.compile(r"⟦\d*⟧")


class UserFact(Value):
    """What the user has said of one subject, word for word."""

    artifact_id: str = Field(description="By which it is read, corrected and forgotten.")
    subject: str = Field(description="What it is about; one fact is kept of each subject.")
    text: str = Field(description="The user's own words, or the user's correction.")
    day: date = Field(description="When it was said, in the users' zone (ACC_ACE_TIME_ZONE).")
    session: str | None = Field(description="Session in which it was said, if that still exists.")
    turn: int | None = Field(description="Turn in which it was said.")


class Profile(Value):
    """What is known of a user, newest first."""

    facts: list[UserFact] = Field(default_factory=list)
