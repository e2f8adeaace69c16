"""A run over a data set: its samples, options, scores and progress."""

from typing import Literal

from pydantic import Field

from acc_ace.core.schemas.base import StoredValue, Value

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
    version: int = Field(ge=0, description="Of the run's own playbook.")
    score: float = Field(ge=0, le=1, description="Mean over the answered samples.")
    answered: int = Field(ge=0)
    samples: int = Field(ge=0)


class RunState(StoredValue):
    """Progress of a run, saved after every sample so that it can be resumed."""

    run: str = Field(description="Names the run: a digest of its options and samples.")
    base_version: int = Field(ge=0, description="Version of the playbook that it started from.")
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
        "nothing could be decided without held-out scores, or the playbook had changed meanwhile.",
    )
    promoted_version: int | None = Field(
        default=None, description="Version of the playbook that it led to."
    )
    digest: str = Field(default="", description="Digest of the run's own playbook at the end.")

    @property
    def name(self) -> str:
        """Names the run in the log of the playbook."""
        return f"learn-{self.run}"
