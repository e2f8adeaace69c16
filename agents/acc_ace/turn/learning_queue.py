"""Learning jobs as the turn knows them: a queue, and what submits to it after an answer."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from acc_ace.core.schemas.base import Tenant
from acc_ace.core.schemas.learning_job import JobState, LearningJob, QueuedLearning
from acc_ace.turn.turn_record import TurnRecord


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


class TurnLearning(Protocol):
    """Learning from this process's turns in the background."""

    def start(self) -> None:
        """Start running jobs, also those left by other processes. Raises ConfigError."""
        ...

    async def submit(self, record: TurnRecord) -> None:
        """Enqueue the job of a turn. Raises StoreError; the turn is then not learnt from."""
        ...

    async def pending(self) -> int:
        """Number of waiting and running jobs of all processes. Raises StoreError."""
        ...

    async def finish(self, wait_s: float) -> None:
        """Wait until no job is left, at most `wait_s` seconds."""
        ...

    async def stop(self) -> int:
        """Stop; return the jobs left for the next start, -1 if unknown."""
        ...
