"""What is known of a user: the facts that the user's own sentences leave."""

from datetime import date

from pydantic import Field

from acc_ace.core.schemas.base import Value


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
