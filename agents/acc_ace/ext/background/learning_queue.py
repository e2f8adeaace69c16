"""Durable learning jobs: submitted by turns, run in the background, managed by people."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from acc_ace.core.schemas.base import Tenant
from acc_ace.ext.background.learning_budget import Meter
from acc_ace.ext.background.learning_job import (
    JobState,
    LearningJob,
    LearningOutcome,
    QueuedLearning,
)

Learn = Callable[[LearningJob, Meter], Awaitable[LearningOutcome]]
"""Run a job and count its model tokens. Raises AccAceError; then nothing has changed.

Idempotent: running a finished job again changes nothing.
"""


class LearningQueue(Protocol):
    """Queue of learning jobs. Raises StoreError when it cannot be read or written."""

    async def submit(self, job: LearningJob) -> bool:
        """Enqueue a job; return False if its id was already submitted.

        When too many jobs wait, the oldest are shed (dropped, but still listed).
        """
        ...

    async def list(
        self,
        *,
        states: Sequence[JobState] = (),
        tenant: Tenant | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> Sequence[QueuedLearning]:
        """Return a page of jobs, newest first, optionally by state and user."""
        ...

    async def get(self, job_id: str) -> QueuedLearning:
        """Return a job; raises NotFoundError."""
        ...

    async def retry(self, job_id: str) -> QueuedLearning:
        """Retry a failed or dropped job.

        Raises NotFoundError, or InputError for a job in another state.
        """
        ...

    async def drop(self, job_id: str) -> None:
        """Delete a job. Raises NotFoundError, or InputError while it is running."""
        ...

    async def counts(self) -> Mapping[JobState, int]:
        """Return the number of jobs in each state."""
        ...

    async def erase(self, tenant: Tenant) -> int:
        """Delete the user's jobs; return how many."""
        ...

    async def apps(self, user: str) -> set[str]:
        """The apps in which a user has jobs."""
        ...

    async def exists(self) -> bool:
        """Whether any job was ever stored here; creates no tables."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class LearningWorker(Protocol):
    """Run the jobs of a queue in this process."""

    def start(self) -> None:
        """Start the worker if it is not running; returns at once. Raises ConfigError."""
        ...

    async def stop(self, grace_s: float) -> None:
        """Stop taking jobs; let running ones finish within the grace period, then requeue them."""
        ...
