"""What recall is measured on: passages, and questions whose evidence is known."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

START = datetime(2026, 1, 1, tzinfo=UTC)
"""When the first passage was made, if the data do not say; each later one a minute later."""


class Passage(NamedTuple):
    """A text that can be found. `session` and `turn` say where in a dialogue it stands."""

    passage_id: str
    text: str
    position: int
    session: str | None = None
    turn: int | None = None
    speaker: str = ""
    at: datetime | None = None
    """When it was said, if the data say so."""

    @property
    def created_at(self) -> datetime:
        """When it was said; without a date, all that matters is the order."""
        return self.at or START + timedelta(minutes=self.position)


class Question(NamedTuple):
    """A question, and the ids of the passages that answer it."""

    text: str
    evidence: frozenset[str]
    category: str


class Corpus(NamedTuple):
    """One store's worth of passages, and the questions about them."""

    name: str
    passages: list[Passage]
    questions: list[Question]

    @property
    def asked_at(self) -> datetime:
        """When the questions are asked: after all that was said."""
        return max(passage.created_at for passage in self.passages) + timedelta(minutes=1)
