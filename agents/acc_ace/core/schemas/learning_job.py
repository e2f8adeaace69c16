"""Learning from a turn as a job: what it is, and how far it has come."""

import hashlib
import json
from datetime import datetime
from enum import StrEnum

from pydantic import Field

from acc_ace.core.schemas.base import SessionKey, StoredValue, Tenant, Value


class LearningKind(StrEnum):
    """What a job learns from."""

    TURN = "turn"
    FEEDBACK = "feedback"


class LearningJob(StoredValue):
    """Reflect on one answered turn and curate the playbook. The id is an idempotency key."""

    kind: LearningKind = LearningKind.TURN
    app: str
    user: str
    session: str
    turn: int = Field(ge=1)
    invocation_id: str = Field(
        description="The run that answered; a turn that was undone and repeated has another run."
    )
    base_version: int = Field(ge=0, description="Playbook version that the turn was answered with.")
    detail: str = Field(default="", description="Which feedback, by its digest; '' for a turn.")

    @property
    def id(self) -> str:
        """32 hexadecimal digits derived from the job; they do not reveal the user."""
        parts = [
            self.kind,
            self.app,
            self.user,
            self.session,
            self.turn,
            self.invocation_id,
            self.base_version,
            self.detail,
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]

    @property
    def key(self) -> SessionKey:
        """The session of the turn."""
        return SessionKey(self.app, self.user, self.session)

    @property
    def tenant(self) -> Tenant:
        """The owner of the turn."""
        return Tenant(self.app, self.user)


class JobState(StrEnum):
    """State of a learning job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    DEAD = "dead"
    """All attempts failed; waiting for a person."""
    SHED = "shed"
    """Dropped because the queue was full."""


class Attempt(Value):
    """One attempt of a job, and its cost."""

    at: datetime
    tokens: int = Field(default=0, ge=0, description="Into and out of all model calls.")
    error: str = Field(default="", description="Why it failed; '' when it did not.")


class QueuedLearning(Value):
    """A job in the queue."""

    id: str
    state: JobState
    job: LearningJob | None = Field(description="None when what is stored cannot be read.")
    attempts: list[Attempt] = Field(default_factory=list, description="Oldest first, the last few.")
    error: str = Field(default="", description="Why it is dead or shed, or the last try failed.")
    outcome: str = Field(default="", description="When done: 'learned', or why there was nothing.")
    created_at: datetime
    updated_at: datetime

    @property
    def tokens(self) -> int:
        """Tokens of all attempts."""
        return sum(attempt.tokens for attempt in self.attempts)


class LearningOutcome(Value):
    """Result of a finished job."""

    outcome: str = Field(description="'learned', 'known' (done before), or 'obsolete'.")
    version: int = Field(default=0, ge=0, description="Playbook version that it led to.")
    applied: int = Field(default=0, ge=0)
    held: int = Field(default=0, ge=0)
    rejected: int = Field(default=0, ge=0)
    left: int = Field(default=0, ge=0, description="Bullets that left the full playbook.")
