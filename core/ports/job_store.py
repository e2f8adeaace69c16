"""Durable work: what is written here is done, even if this process ends before."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from schemas.job import Job
from schemas.tenancy import Tenant


class JobStore(Protocol):
    """Keeps jobs until they are done. Raises StoreError when it cannot be read or written."""

    async def enqueue(self, job: Job) -> bool:
        """Keep a job; False when it is there already. One that was given up begins anew.

        One that is damaged, which no program can read, is replaced.
        One that was claimed is done once more after that, unless it deletes or erases: what has
        begun since is not to be ended too.
        """
        ...

    async def replace(self, job: Job) -> None:
        """Keep a job in the place of the one that has its id, if there is one: all or nothing."""
        ...

    async def claim(self, *, now: datetime, lease_s: float) -> Job | None:
        """The oldest job that is due, not due again for `lease_s` seconds; None when there is none.

        One that is due later than LONGEST_DELAY from now is due now: the clock was set back.

        A claimer that dies leaves the job to be claimed again after that. Counts as a try. A job
        that cannot be read is put off by LONGEST_DELAY with an error in the log, for a program
        that can read it, and the next one is claimed.
        """
        ...

    async def find(self, job_id: str) -> Job | None:
        """A job that is not done, or None. One that is damaged is none, with an error in the log.

        Raises CorruptStoreError for one of a newer program.
        """
        ...

    async def finish(self, job_id: str) -> None:
        """Forget a job that is done, or let it begin anew if it was asked for since its claim."""
        ...

    async def fail(self, job_id: str, *, error: str, due_at: datetime | None) -> None:
        """Note why a try failed; due again then, or given up when None.

        One that would be given up begins anew if it was asked for since its claim.
        """
        ...

    async def list(self, tenant: Tenant, *, limit: int = 50) -> Sequence[Job]:
        """The user's jobs that are not done, oldest first.

        One that cannot be read is passed over with an error in the log.
        """
        ...

    async def erase(self, tenant: Tenant) -> int:
        """Delete the user's jobs; how many."""
        ...
