"""A run over a data set: its samples, options, scores and progress."""

from operator import not_
from typing import Literal

from pydantic import Field

from acc_ace.core.schemas.base import StoredValue, Value
from acc_ace.core.schemas.cost import Totals
from acc_ace.core.schemas.report import TokenUse

FeedbackMode = Literal["truth", "reward", "none"]
"""What the Reflector sees of an answer: the target, only the score, or nothing."""

Work = Literal["practice", "learning", "scoring"]
"""What models are asked for: answers to learn from, what they teach, answers only to be scored."""


ScoreOf = Literal["held-out", "test", "online"]
"""What is scored: versions, to choose one; the first and the best; or an online pass."""


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
    # Left out where they are not used, so that earlier runs keep their names.
    test: float = Field(default=0, ge=0, le=0.9, exclude_if=not_, description="Test fraction.")
    online: bool = Field(default=False, exclude_if=not_, description="Learn from what is apart.")


class HeldoutScore(Value):
    """Score of a playbook version on samples that it has not learnt from; it may be under way."""

    of: ScoreOf = "held-out"
    epoch: int = Field(ge=0, description="Epochs before; 0 for the initial playbook.")
    version: int = Field(ge=0, description="Of the run's own playbook; the newest, when online.")
    score: float = Field(default=0, ge=0, le=1, description="Mean over the answered samples.")
    answered: int = Field(default=0, ge=0, description="Answers that could be scored.")
    samples: int = Field(default=0, ge=0)
    right: int = Field(default=0, ge=0, description="Answers that are wholly right.")

    def plus(self, score: float | None, *, version: int) -> "HeldoutScore":
        """With one more sample, None where it has no score, and the version after it."""
        count = self.answered + (score is not None)
        mean = (self.score * self.answered + (score or 0.0)) / count if count else 0.0
        right = self.right + (score == 1)
        counts = {"answered": count, "samples": self.samples + 1, "right": right}
        return self.model_copy(update={**counts, "score": mean, "version": version})


class Bill(Value):
    """What one kind of work of a run took."""

    use: TokenUse = TokenUse()
    totals: Totals = Totals()
    seconds: float = Field(default=0, ge=0, description="By the clock on the wall.")

    def __add__(self, other: "Bill") -> "Bill":
        """The sum of both."""
        seconds = self.seconds + other.seconds
        return Bill(use=self.use + other.use, totals=self.totals + other.totals, seconds=seconds)


class RunState(StoredValue):
    """Progress of a run, saved after every sample so that it can be resumed."""

    run: str = Field(description="Names the run: a digest of its options and samples.")
    base_version: int = Field(ge=0, description="Version of the playbook that it started from.")
    options: RunOptions
    train: int = Field(ge=0, description="Training samples per epoch.")
    heldout: int = Field(ge=0, description="Samples that versions are chosen by.")
    epoch: int = Field(default=0, ge=0, description="Epochs that are done.")
    position: int = Field(default=0, ge=0, description="Samples of the next epoch that are done.")
    scores: tuple[HeldoutScore, ...] = Field(default=(), description="Held-out; they choose.")
    tests: tuple[HeldoutScore, ...] = Field(default=(), description="Test or online; reported.")
    scoring: HeldoutScore | None = Field(default=None, description="The one that is under way.")
    score_sum: float = Field(default=0, ge=0, description="Scores of training answers, this epoch.")
    scored: int = Field(default=0, ge=0, description="Training answers that could be scored.")
    failures: int = Field(default=0, ge=0, description="Samples without an answer or reflection.")
    calls: int = Field(default=0, ge=0, description="Model calls so far.")
    tokens: int = Field(default=0, ge=0, description="Tokens into and out of them.")
    bills: dict[Work, Bill] = Field(default_factory=dict, description="The same, by kind of work.")
    last_error: str = ""
    outcome: Literal["", "promoted", "kept", "undecided", "conflict", "online"] = Field(
        default="",
        description="'' while it runs; then whether a version was promoted, the old one was kept, "
        "no held-out score could decide, the playbook had changed meanwhile, or it ended online.",
    )
    promoted_version: int | None = Field(
        default=None, description="Version of the playbook that it led to."
    )
    digest: str = Field(default="", description="Digest of the run's own playbook at the end.")

    @property
    def name(self) -> str:
        """Names the run in the log of the playbook."""
        return f"learn-{self.run}"
