"""Learning jobs as DBOS workflows: one workflow a job, under the job's id.

The queue uses the tables alone, so any process can call it: the one whose turn submitted a job,
the command line, the API. `dbos_worker` runs the jobs.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Final, TypeVar

from dbos import DBOSClient, EnqueueOptions

from acc_ace.clock import Clock
from acc_ace.core.schemas.base import Tenant
from acc_ace.core.schemas.learning_job import Attempt, JobState, LearningJob, QueuedLearning
from acc_ace.core.schemas.limits import BackgroundLimits
from acc_ace.errors import InputError, StoreError
from acc_ace.ext.background.dbos_database import CONNECTIONS, DbosDatabase
from acc_ace.ext.background.dbos_job_rows import (
    AT,
    ATTEMPTS,
    JOB_VERSION,
    QUEUE,
    RETRYABLE,
    SHED,
    STATUSES,
    WORKFLOW,
    apps_of,
    attempts,
    ids_of,
    owner,
    queued,
    row_of,
    rows_of,
    statuses,
    submitted_at,
)

T = TypeVar("T")

_PAGE: Final = 500

logger = logging.getLogger(__name__)


class DbosLearningQueue:
    """A LearningQueue in DBOS's tables. Connects at first use.

    Its queries run in a private thread pool, because a silent server would exhaust the event
    loop's default pool.
    """

    def __init__(self, database: DbosDatabase, limits: BackgroundLimits, clock: Clock) -> None:
        self._database, self._limits, self._clock = database, limits, clock
        self._mutex, self._connecting = threading.Lock(), threading.Lock()
        self._client: DBOSClient | None = None
        self._executor: ThreadPoolExecutor | None = None
        self._closed = False

    async def submit(self, job: LearningJob) -> bool:
        """Enqueue a job; False if its id exists. Sheds the oldest jobs beyond the bound."""
        given_up = threading.Event()

        def work(client: DBOSClient) -> bool:
            if client.list_workflows(workflow_ids=[job.id], load_input=False, load_output=False):
                return False
            if given_up.is_set():
                # The turn was reported as not learnt from; its user may be erased by now.
                raise self._database.away("it answered too late")
            options: EnqueueOptions = {
                "workflow_name": WORKFLOW,
                "queue_name": QUEUE,
                "workflow_id": job.id,
                "app_version": JOB_VERSION,
                "authenticated_user": owner(job.tenant),
                "attributes": {AT: self._clock.now().isoformat()},
            }
            client.enqueue(options, job.model_dump(mode="json"))
            self._shed(client)
            return True

        try:
            return await self._ask(work)
        except StoreError:
            given_up.set()
            raise

    async def list(
        self,
        *,
        states: Sequence[JobState] = (),
        tenant: Tenant | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> Sequence[QueuedLearning]:
        """A page of jobs, newest first."""
        if limit < 1:
            return []
        rows = await self._ask(
            lambda client: client.list_workflows(
                name=WORKFLOW,
                status=statuses(states),
                user=owner(tenant) if tenant else None,
                limit=limit,
                offset=max(offset, 0),
                sort_desc=True,
            )
        )
        return [queued(row) for row in rows]

    async def get(self, job_id: str) -> QueuedLearning:
        """A job; raises NotFoundError."""
        return await self._ask(lambda client: queued(row_of(client, job_id)))

    async def retry(self, job_id: str) -> QueuedLearning:
        """Retry a dead or shed job. Raises NotFoundError or InputError."""

        def work(client: DBOSClient) -> QueuedLearning:
            job = queued(row_of(client, job_id))
            if job.state not in RETRYABLE:
                raise InputError(
                    f"job {job_id} is {job.state}; only dead and shed jobs can be retried"
                )
            client.rewind_workflow(
                job_id, start_step=1, application_version=JOB_VERSION, queue_name=QUEUE
            )
            return queued(row_of(client, job_id))

        return await self._ask(work)

    async def drop(self, job_id: str) -> None:
        """Delete a job. Raises NotFoundError, or InputError while it is running."""

        def work(client: DBOSClient) -> None:
            if queued(row_of(client, job_id)).state is JobState.RUNNING:
                raise InputError(f"job {job_id} is running; drop it when it has ended")
            client.delete_workflow(job_id)

        await self._ask(work)

    async def counts(self) -> Mapping[JobState, int]:
        """The number of jobs in each state."""
        return await self._ask(
            lambda client: {state: len(ids_of(client, states=[state])) for state in JobState}
        )

    async def erase(self, tenant: Tenant) -> int:
        """Delete the user's jobs, running ones too: those find no turn to learn from.

        Raises StoreError, also when deleted text remains in a file that another program reads.
        """

        def work(client: DBOSClient) -> int:
            doomed = ids_of(client, tenant=tenant)
            if doomed:
                client.delete_workflows(doomed)
            return len(doomed)

        erased = await self._ask(work)
        # Also without jobs: an earlier call may have deleted them and failed here.
        await asyncio.to_thread(self._database.scrub)
        return erased

    async def apps(self, user: str) -> set[str]:
        """The apps in which a user has jobs."""
        return await self._ask(lambda client: apps_of(client, user))

    async def spent(self, since: datetime) -> Sequence[Attempt]:
        """Attempts of jobs that ended after `since`, or have not ended."""

        def work(client: DBOSClient) -> Sequence[Attempt]:
            rows = [
                *rows_of(client, states=[JobState.RUNNING, JobState.WAITING]),
                *rows_of(client, completed_after=since.isoformat()),
            ]
            return [attempt for row in rows for attempt in attempts(row.attributes)]

        return await self._ask(work)

    async def note(self, job_id: str, made: Sequence[Attempt]) -> None:
        """Store the attempts of a job, with their cost and errors."""
        values = [attempt.model_dump(mode="json") for attempt in made[-2 * self._limits.tries :]]
        await self._ask(
            lambda client: client.update_workflow_attributes(job_id, {ATTEMPTS: values}, merge=True)
        )

    async def tidy(self, now: datetime) -> int:
        """Delete expired finished jobs and dead ones beyond the bound; return how many."""

        def work(client: DBOSClient) -> int:
            ended = datetime.fromtimestamp(now.timestamp() - self._limits.keep_done_s, UTC)
            old = ids_of(client, states=[JobState.DONE], completed_before=ended.isoformat())
            dead = ids_of(client, states=RETRYABLE)[self._limits.keep_dead :]
            for start in range(0, len(doomed := [*old, *dead]), _PAGE):
                client.delete_workflows(doomed[start : start + _PAGE])
            return len(doomed)

        return await self._ask(work)

    async def requeue(self, worker: str) -> None:
        """Requeue the jobs that a worker has started and not finished."""

        def work(client: DBOSClient) -> None:
            rows = client.list_workflows(
                name=WORKFLOW,
                status=statuses([JobState.RUNNING]),
                executor_id=worker,
                load_input=False,
                load_output=False,
            )
            if rows:
                client.resume_workflows([row.workflow_id for row in rows], queue_name=QUEUE)

        await self._ask(work)

    async def running_by(self) -> set[str]:
        """The executors that have jobs running, dead or alive."""

        def work(client: DBOSClient) -> set[str]:
            rows = rows_of(client, states=[JobState.RUNNING])
            return {row.executor_id for row in rows if row.executor_id}

        return await self._ask(work)

    async def exists(self) -> bool:
        """Whether the job tables exist. Raises StoreError."""
        return await self._answered(self._database.exists)

    async def close(self) -> None:
        """Close the connections; using the queue again raises StoreError."""
        with self._mutex:
            executor, self._executor, self._closed = self._executor, None, True
        if executor is not None:
            await asyncio.to_thread(executor.shutdown)
        client, self._client = self._client, None
        if client is not None:
            await asyncio.to_thread(client.destroy)

    async def _ask(self, work: Callable[[DBOSClient], T]) -> T:
        return await self._answered(lambda: self._database.run(lambda: work(self._connected())))

    async def _answered(self, work: Callable[[], T]) -> T:
        """Run blocking work in the thread pool. Raises StoreError on a timeout.

        The work may still complete after that.
        """
        wait_s = self._database.wait_s
        waiting = asyncio.wrap_future(self._threads().submit(work))
        try:
            async with asyncio.timeout(wait_s):
                return await waiting
        except TimeoutError as error:
            raise self._database.away(
                f"no answer in {wait_s:g} s (ACC_ACE_DATABASE_WAIT_S is how long to wait)"
            ) from error

    def _threads(self) -> ThreadPoolExecutor:
        with self._mutex:
            self._require_open()
            if self._executor is None:
                self._executor = ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="jobs")
            return self._executor

    def _connected(self) -> DBOSClient:
        with self._connecting:
            self._require_open()
            if self._client is None:
                self._database.migrate()
                self._client = self._database.client()
            return self._client

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(f"the jobs in {self._database.name} were closed by this program")

    def _shed(self, client: DBOSClient) -> None:
        """Cancel the oldest waiting jobs beyond the bound."""
        waiting = client.list_workflows(
            name=WORKFLOW,
            status=list(STATUSES[JobState.WAITING]),
            limit=self._limits.queue + _PAGE,
            load_input=False,
            load_output=False,
        )
        # DBOS's own times are whole seconds in SQLite.
        waiting.sort(key=submitted_at)
        excess = [row.workflow_id for row in waiting[: max(0, len(waiting) - self._limits.queue)]]
        for job_id in excess:
            client.update_workflow_attributes(job_id, {SHED: "queue_full"}, merge=True)
        if excess:
            client.cancel_workflows(excess)
            logger.warning("learning_shed jobs=%d bound=%d", len(excess), self._limits.queue)
