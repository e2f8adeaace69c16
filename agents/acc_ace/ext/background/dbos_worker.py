"""Runs learning jobs as DBOS workflows, on a dedicated thread with its own event loop.

DBOS assigns each job to one worker, retries it with exponential backoff, and stores its result.
Recovery from a dead worker, which DBOS leaves to its paid service, works by locks: every worker
holds a cross-process lock in its own name, and a worker that acquires another's lock recovers that
one's jobs. A false positive costs tokens, nothing else: the commit of a lesson is idempotent.
"""

import asyncio
import logging
import threading
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from dbos import DBOS, DBOSConfig, StepOptions
from sqlalchemy import Engine

from acc_ace.clock import Clock
from acc_ace.container import LoadMonitor
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.learning_job import Attempt, LearningJob, LearningOutcome
from acc_ace.core.schemas.limits import BackgroundLimits
from acc_ace.errors import (
    AccAceError,
    ConfigError,
    CorruptStoreError,
    ModelOutputError,
    ModelUnavailable,
    SessionBusyError,
    StoreError,
)
from acc_ace.ext.background.dbos_database import (
    APP,
    SCHEMA,
    DbosDatabase,
    JsonSerializer,
    quiet_dbos,
)
from acc_ace.ext.background.dbos_job_rows import JOB_VERSION, QUEUE, WORKFLOW
from acc_ace.ext.background.dbos_queue import DbosLearningQueue
from acc_ace.ext.background.dbos_throttle import Throttle, pause
from acc_ace.ext.background.learning_budget import Meter
from acc_ace.turn.ports import SessionLock

logger = logging.getLogger(__name__)

_KEEP_S = 10.0
"""Interval between two checks for jobs of dead workers."""

_AGAIN_S = 2.0
"""Delay before an unreadable job row is read again."""

_LEAVE_S = 15.0
"""Time limit for DBOS's own threads to end."""

_SHOWN = 500

_LOOK_S = 0.1
"""Interval at which a worker that waits for another one checks whether it was stopped."""

_live: "list[DbosWorker]" = []
"""The workers that have not ended. DBOS is a singleton, so only the first one runs. Workers that
are stopping come before the one that is not."""

_live_mutex = threading.Lock()


Learn = Callable[[LearningJob, Meter], Awaitable[LearningOutcome]]
"""Run a job and count its model tokens. Raises AccAceError; then nothing has changed.

Idempotent: running a finished job again changes nothing.
"""


class _Engine(DBOS):
    """DBOS as started by us; distinguishes it from one that other code has started."""


class DbosWorker:
    """Runs the jobs of a queue in this process, over DBOS."""

    def __init__(
        self,
        queue: DbosLearningQueue,
        database: DbosDatabase,
        limits: BackgroundLimits,
        *,
        learn: Learn,
        lock: SessionLock,
        pressure: LoadMonitor,
        clock: Clock,
        on_stop: Callable[[], Awaitable[None]],
    ) -> None:
        """`on_stop` is awaited on the worker's loop when it ends, to close what `learn` uses."""
        self._queue, self._database, self._limits = queue, database, limits
        self._learn, self._on_stop = learn, on_stop
        self._lock, self._clock = lock, clock
        self._room = Throttle(queue, limits, pressure, clock)
        self._name = uuid.uuid4().hex
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending = asyncio.Event()
        self._ready = threading.Event()
        self._stopped = threading.Event()
        self._died = ""
        self._grace_s = 0.0
        self._jobs: set[asyncio.Task[Any]] = set()

    def start(self) -> None:
        """Start the worker, unless one of this process serves the queue.

        It runs as soon as workers that are stopping have ended. Raises ConfigError when this
        process serves another queue.
        """
        with _live_mutex:
            # A worker that is stopping is not restarted: its caller may close what it uses.
            if self in _live:
                return
            for other in _live:
                if not other._stopped.is_set():
                    _require_same(self._queue, other._queue)
                    return
            self._start_thread([other._thread for other in _live if other._thread is not None])

    def _start_thread(self, before: list[threading.Thread]) -> None:
        self._ending, self._stopped = asyncio.Event(), threading.Event()
        self._ready.clear()
        self._thread = threading.Thread(
            target=self._run, args=(before,), name="learning", daemon=True
        )
        self._thread.start()
        _live.append(self)

    async def stop(self, grace_s: float) -> None:
        """Stop; jobs still running after `grace_s` seconds are requeued."""
        thread, self._grace_s = self._thread, grace_s
        if thread is None:
            return
        self._stopped.set()
        await asyncio.to_thread(self._end, thread)
        if thread.is_alive():
            logger.warning("learning_worker_late")
        if self._thread is thread:  # It may have started again by now.
            self._thread = None

    def _end(self, thread: threading.Thread) -> None:
        if self._ready.wait(_LEAVE_S) and self._loop is not None:
            with suppress(RuntimeError):  # Its loop has ended, and the thread with it.
                self._loop.call_soon_threadsafe(self._ending.set)
        thread.join(self._grace_s + 2 * _LEAVE_S)

    def _run(self, before: list[threading.Thread]) -> None:
        try:
            if self._wait_for(before):
                asyncio.run(self._work())
        except Exception as error:
            # No caller sees this error; the jobs stay queued for the next worker.
            died = f"{type(error).__name__}: {error}"
            if died != self._died:  # It is restarted repeatedly: each cause is logged once.
                logger.exception("learning_worker_died")
            self._died = died
        finally:
            with _live_mutex:
                self._ready.set()
                _live.remove(self)

    def _wait_for(self, before: list[threading.Thread]) -> bool:
        """Wait for other workers to end; False when this one is stopped before that."""
        for thread in before:
            while thread.is_alive() and not self._stopped.is_set():
                thread.join(_LOOK_S)
        return not self._stopped.is_set()

    async def _work(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ready.set()
        try:
            while not self._ending.is_set():
                try:
                    async with self._lock.hold(_lock_key(self._name), wait_s=0):
                        await self._serve()
                except (StoreError, SessionBusyError) as error:
                    logger.warning("learning_waits code=%s", error.code)
                    await pause(_KEEP_S, self._ending)
        finally:
            await self._on_stop()

    async def _serve(self) -> None:
        """Run jobs until stopped. Raises StoreError while the database is unavailable."""
        await self._queue.counts()  # Connects, and migrates the tables.
        quiet_dbos()
        connections = self._database.engine(self._limits.workers + 2)
        engine = _Engine(config=self._config(connections))
        if not isinstance(engine, _Engine):
            raise ConfigError(
                "this process already uses DBOS for something else, so ACC_ACE_LEARNING=background "
                "cannot run here: use inline, or another process"
            )
        try:
            await self._launch()
            self._died = ""
            await self._maintain()
        finally:
            try:
                await self._drain()
            finally:
                await _end_engine()
                if connections is not None:
                    connections.dispose()
                # Not before: the engine would dequeue them again.
                await self._requeue()

    async def _launch(self) -> None:
        """Start DBOS; its jobs run on this loop."""

        @DBOS.workflow(name=WORKFLOW, max_recovery_attempts=self._limits.tries)
        async def learn(job: dict[str, Any]) -> dict[str, Any]:
            return await self._job(job)

        self._database.run(DBOS.launch)
        await DBOS.register_queue_async(
            QUEUE,
            worker_concurrency=self._limits.workers,
            polling_interval_sec=self._limits.poll_s,
            on_conflict="always_update",
        )

    def _config(self, connections: Engine | None) -> DBOSConfig:
        return {
            "name": APP,
            "system_database_url": self._database.url,
            "system_database_engine": connections,
            "dbos_system_schema": SCHEMA,
            "application_version": JOB_VERSION,
            "executor_id": self._name,
            "serializer": JsonSerializer(),
            "sys_db_pool_size": self._limits.workers + 2,
            "max_executor_threads": self._limits.workers + 6,
            "log_level": "WARNING",
            "run_migrations": False,
            "use_listen_notify": False,
        }

    async def _maintain(self) -> None:
        """Recover jobs of dead workers and delete old jobs, until stopped."""
        while not self._ending.is_set():
            try:
                await self._take_over()
                await self._queue.tidy(self._clock.now())
            except StoreError as error:
                logger.warning("learning_not_kept code=%s", error.code)
            await pause(_KEEP_S, self._ending)

    async def _take_over(self) -> None:
        for other in await self._queue.running_by() - {self._name}:
            with suppress(SessionBusyError):
                async with self._lock.hold(_lock_key(other), wait_s=0):
                    # DBOS's own recovery for executors known to be dead. It has no public name;
                    # the public ones forget how often a job was started.
                    handles = await asyncio.to_thread(DBOS._recover_pending_workflows, [other])
                    logger.info("learning_taken_over jobs=%d", len(handles))

    async def _drain(self) -> None:
        """Let running jobs finish, and cancel those that exceed the grace period."""
        if self._jobs:
            await asyncio.wait(self._jobs, timeout=self._grace_s)
        unfinished = [task for task in self._jobs if not task.done()]
        for task in unfinished:
            task.cancel()
        if unfinished:
            await asyncio.wait(unfinished, timeout=_LEAVE_S)
        self._jobs.clear()

    async def _requeue(self) -> None:
        try:
            await self._queue.requeue(self._name)
        except StoreError as error:
            # Another worker will find this one dead.
            logger.warning("learning_not_given_back code=%s", error.code)

    async def _job(self, value: dict[str, Any]) -> dict[str, Any]:
        """The workflow of one job."""
        task = asyncio.current_task()
        job = LearningJob.model_validate(value)
        if task is not None:
            self._jobs.add(task)
        try:
            made = await self._made(job.id)
            await self._room.acquire(self._ending)

            async def attempt() -> dict[str, Any]:
                return await self._attempt(job, made)

            return await DBOS.run_step_async(self._policy(), attempt)
        finally:
            if task is not None and not self._ending.is_set():
                self._jobs.discard(task)

    async def _made(self, job_id: str) -> list[Attempt]:
        """The job's earlier attempts. Waits while unreadable: an error would end the job."""
        while True:
            try:
                return list((await self._queue.get(job_id)).attempts)
            except StoreError as error:
                logger.warning("learning_waits job=%s code=%s", job_id, error.code)
                if self._ending.is_set():
                    raise asyncio.CancelledError from error
                await pause(_AGAIN_S, self._ending)

    def _policy(self) -> StepOptions:
        return {
            "name": WORKFLOW,
            "retries_allowed": True,
            "max_attempts": self._limits.tries,
            "interval_seconds": self._limits.backoff_s,
            "backoff_rate": 2.0,
            "should_retry": _is_retryable,
        }

    async def _attempt(self, job: LearningJob, made: list[Attempt]) -> dict[str, Any]:
        if made:
            await self._room.acquire(self._ending)
        meter, error = Meter(), ""
        try:
            return (await self._learn(job, meter)).model_dump(mode="json")
        except AccAceError as failure:
            error = str(failure)[:_SHOWN] or failure.code
            logger.warning(
                "learning_failed job=%s code=%s try=%d", job.id, failure.code, len(made) + 1
            )
            raise
        finally:
            made.append(Attempt(at=self._clock.now(), tokens=meter.tokens, error=error))
            self._room.spent_more()
            await self._note(job.id, made)

    async def _note(self, job_id: str, made: list[Attempt]) -> None:
        try:
            await self._queue.note(job_id, made)
        except StoreError as error:
            # The budget misses the cost of this attempt; its lesson is kept.
            logger.warning("learning_not_noted job=%s code=%s", job_id, error.code)


def _require_same(queue: DbosLearningQueue, served: DbosLearningQueue) -> None:
    if queue is not served:
        raise ConfigError("this process already runs background learning over other stores")


def _lock_key(worker: str) -> SessionKey:
    """The key that a worker locks while it lives; no user is named ''."""
    return SessionKey(APP, "", f"learning/{worker}")


def _is_retryable(error: BaseException) -> bool:
    """Whether a retry can help; otherwise a person must look at it."""
    if isinstance(error, CorruptStoreError):
        return False
    return isinstance(error, ModelUnavailable | ModelOutputError | StoreError)


async def _end_engine() -> None:
    """Stop DBOS, on another thread: the loop must keep running to reject late jobs."""
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1, thread_name_prefix="learning-end") as pool:
        await loop.run_in_executor(pool, lambda: DBOS.destroy(destroy_registry=True))
    # DBOS had installed its own executor, which has ended with it.
    loop.set_default_executor(ThreadPoolExecutor(2, thread_name_prefix="learning"))
