"""Learning as durable jobs: submitted by a turn, done later, seen and run again by a person."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from core.domain.learning_budget import Meter
from schemas.learning_job import JobState, LearningJob, LearningOutcome, QueuedLearning
from schemas.tenancy import Tenant

Learn = Callable[[LearningJob, Meter], Awaitable[LearningOutcome]]
"""Does a job, and counts what its model calls cost. Raises AccAceError; nothing has changed then.

It may be called again for a job that it has done, and then changes nothing.
"""


class LearningQueue(Protocol):
    """Keeps learning jobs. Raises StoreError when it cannot be read or written."""

    async def submit(self, job: LearningJob) -> bool:
        """Keep a job; False when it is there already, whatever became of it.

        Beyond the bound of waiting jobs the oldest ones are shed, with a record of it.
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
        """A page of jobs, newest first; of all states and users when none is named."""
        ...

    async def get(self, job_id: str) -> QueuedLearning:
        """A job; raises NotFoundError."""
        ...

    async def retry(self, job_id: str) -> QueuedLearning:
        """Let a dead or shed job be done again.

        Raises NotFoundError, or InputError for a job in another state.
        """
        ...

    async def drop(self, job_id: str) -> None:
        """Forget a job. Raises NotFoundError, or InputError while it is running."""
        ...

    async def counts(self) -> Mapping[JobState, int]:
        """How many jobs are in each state."""
        ...

    async def erase(self, tenant: Tenant) -> int:
        """Delete the user's jobs; how many."""
        ...

    async def apps(self, user: str) -> set[str]:
        """The apps that a user has jobs of."""
        ...

    async def residue(self, tenant: Tenant) -> Mapping[str, int]:
        """Rows that name the user, by table; empty when nothing is held."""
        ...

    async def exists(self) -> bool:
        """Whether any job was ever kept here; makes no tables."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class LearningWorker(Protocol):
    """Does the jobs of a queue in this process, beside its turns."""

    def start(self) -> None:
        """Begin, unless it has begun; returns at once. Raises ConfigError."""
        ...

    async def stop(self, grace_s: float) -> None:
        """Begin no more jobs; let the running ones finish, then give them back to the queue."""
        ...
