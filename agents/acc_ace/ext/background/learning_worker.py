"""What runs learning jobs in this process."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from acc_ace.core.schemas.learning_job import LearningJob, LearningOutcome
from acc_ace.ext.background.learning_budget import Meter

Learn = Callable[[LearningJob, Meter], Awaitable[LearningOutcome]]
"""Run a job and count its model tokens. Raises AccAceError; then nothing has changed.

Idempotent: running a finished job again changes nothing.
"""


class LearningWorker(Protocol):
    """Run the jobs of a queue in this process."""

    def start(self) -> None:
        """Start the worker if it is not running; returns at once. Raises ConfigError."""
        ...

    async def stop(self, grace_s: float) -> None:
        """Stop taking jobs; let running ones finish within the grace period, then requeue them."""
        ...
