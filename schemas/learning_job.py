"""Public contract: learning jobs. Defined in `acc_ace.core.schemas.learning_job`."""

from acc_ace.core.schemas.learning_job import (
    Attempt,
    JobState,
    LearningJob,
    LearningKind,
    LearningOutcome,
    QueuedLearning,
)

__all__ = [
    "Attempt",
    "JobState",
    "LearningJob",
    "LearningKind",
    "LearningOutcome",
    "QueuedLearning",
]
