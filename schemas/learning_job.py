"""Learning from a turn as durable work: what it is about, and how far it has come.

A job holds names of things, never their texts: input, answer and tool results stay in the
evidence, where erasing a user finds them.
"""

import hashlib
import json
from datetime import datetime
from enum import StrEnum

from pydantic import Field

from schemas.base import StoredValue, Value
from schemas.tenancy import SessionKey, Tenant


class LearningKind(StrEnum):
    """What there is to learn from."""

    TURN = "turn"
    FEEDBACK = "feedback"


class LearningJob(StoredValue):
    """Reflect on one answered turn and curate the playbook. The same work has the same id."""

    kind: LearningKind = LearningKind.TURN
    app: str
    user: str
    session: str
    turn: int = Field(ge=1)
    invocation_id: str = Field(
        description="The run that answered: a turn that was taken back and asked anew is another."
    )
    base_version: int = Field(ge=0, description="Playbook version that the turn was answered with.")
    detail: str = Field(default="", description="Which feedback, by its digest; '' for a turn.")

    @property
    def id(self) -> str:
        """32 hexadecimal digits that name the work and tell nothing of the user."""
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
        """The session it is about."""
        return SessionKey(self.app, self.user, self.session)

    @property
    def tenant(self) -> Tenant:
        """Whose turn it is."""
        return Tenant(self.app, self.user)


class JobState(StrEnum):
    """How far a learning job has come."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    DEAD = "dead"
    """Tried as often as it will be; a person looks at it."""
    SHED = "shed"
    """Given up for newer ones when too many waited."""


class Attempt(Value):
    """One try of a job, and what it cost."""

    at: datetime
    tokens: int = Field(default=0, ge=0, description="Into and out of all model calls.")
    error: str = Field(default="", description="Why it failed; '' when it did not.")


class QueuedLearning(Value):
    """A job as the queue knows it."""

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
        """What all tries have cost together."""
        return sum(attempt.tokens for attempt in self.attempts)


class LearningOutcome(Value):
    """What became of a job that was done."""

    outcome: str = Field(description="'learned', 'known' (done before), or 'obsolete'.")
    version: int = Field(default=0, ge=0, description="Playbook version that it led to.")
    applied: int = Field(default=0, ge=0)
    held: int = Field(default=0, ge=0)
    rejected: int = Field(default=0, ge=0)
