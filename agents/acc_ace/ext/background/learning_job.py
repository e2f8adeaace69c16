"""Asynchronous learning: background jobs and their states, and runs over a data set."""

import hashlib
import json
from datetime import datetime
from enum import StrEnum
from typing import Literal

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


FeedbackMode = Literal["truth", "reward", "none"]
"""What the Reflector sees of an answer: the target, only the score, or nothing."""


class Sample(Value):
    """A question of a data set, with its answer if known."""

    text: str = Field(min_length=1, description="Context and question, as the Generator gets them.")
    target: str | None = Field(default=None, description="The correct answer.")


class RunOptions(Value):
    """Options of a run. The same options and samples identify the same run."""

    epochs: int = Field(default=1, ge=1, le=100)
    heldout: float = Field(default=0.2, ge=0, le=0.9, description="Fraction held out for scoring.")
    seed: int = Field(default=0, ge=0, description="Random seed for the split and sample order.")
    feedback: FeedbackMode = "truth"
    app: str = Field(description="Whose playbook.")


class HeldoutScore(Value):
    """Score of a playbook version on the held-out samples."""

    epoch: int = Field(ge=0, description="Epochs before; 0 for the initial playbook.")
    version: int = Field(ge=0, description="On the branch; for epoch 0 on the main branch.")
    score: float = Field(ge=0, le=1, description="Mean over the answered samples.")
    answered: int = Field(ge=0)
    samples: int = Field(ge=0)


class RunState(StoredValue):
    """Progress of a run, saved after every sample so that it can be resumed."""

    run: str = Field(description="Names the run: a digest of its options and samples.")
    branch: str = Field(description="Branch of the playbook that it learns on.")
    base_version: int = Field(ge=0, description="Version of the main branch that it started from.")
    options: RunOptions
    train: int = Field(ge=0, description="Training samples per epoch.")
    heldout: int = Field(ge=0, description="Samples that versions are scored on.")
    epoch: int = Field(default=0, ge=0, description="Epochs that are done.")
    position: int = Field(default=0, ge=0, description="Samples of the next epoch that are done.")
    scores: tuple[HeldoutScore, ...] = ()
    score_sum: float = Field(default=0, ge=0, description="Scores of training answers, this epoch.")
    scored: int = Field(default=0, ge=0, description="Training answers that could be scored.")
    failures: int = Field(default=0, ge=0, description="Samples without an answer or reflection.")
    calls: int = Field(default=0, ge=0, description="Model calls so far.")
    tokens: int = Field(default=0, ge=0, description="Tokens into and out of them.")
    last_error: str = ""
    outcome: Literal["", "promoted", "kept", "undecided", "conflict"] = Field(
        default="",
        description="'' while it runs; then whether a version was promoted, the old one was kept, "
        "nothing could be decided without held-out scores, or the main branch had moved on.",
    )
    promoted_version: int | None = Field(
        default=None, description="Version of the main branch that it led to."
    )
    digest: str = Field(default="", description="Digest of the branch at the end.")
