"""Does learning jobs as DBOS workflows, on a thread with an event loop of its own.

DBOS hands each job to one worker, tries it again with growing waits, and keeps what came of it.
What it leaves open (without its paid service) is who takes over from a worker that died: here
every worker holds a lock in its own name, among all processes of the stores, and whoever gets the
lock of another one knows that it is gone. Being wrong about that costs tokens, nothing else: a
lesson is committed once, whoever else works on it.
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
from acc_ace.errors import (
    AccAceError,
    ConfigError,
    CorruptStoreError,
    ModelOutputError,
    ModelUnavailable,
    SessionBusyError,
    StoreError,
)
from acc_ace.learning.dbos_database import APP, SCHEMA, DbosDatabase, JsonSerializer, quiet_dbos
from acc_ace.learning.dbos_job_rows import JOB_VERSION, QUEUE, WORKFLOW
from acc_ace.learning.dbos_queue import DbosLearningQueue
from acc_ace.learning.dbos_throttle import Throttle, pause
from acc_ace.learning.learning_budget import Meter
from acc_ace.learning.learning_queue import Learn
from acc_ace.schemas.base import SessionKey
from acc_ace.schemas.learning_job import Attempt, LearningJob
from acc_ace.schemas.limits import BackgroundLimits
from acc_ace.turn.ports import SessionLock

logger = logging.getLogger(__name__)

_KEEP_S = 10.0
"""Time between two looks for jobs of workers that died."""

_AGAIN_S = 2.0
"""Time before a job that could not be read as it began is read again."""

_LEAVE_S = 15.0
"""Time that DBOS's own threads get to end."""

_SHOWN = 500

_LOOK_S = 0.1
"""Time between two looks whether a worker that waits for another one is to end itself."""

_begun: "list[DbosWorker]" = []
"""The workers that have not ended. DBOS is one object in a process, so one of them is at work: the
first. Those that are to end come before the one that is not."""

_beginning = threading.Lock()


class _Engine(DBOS):
    """DBOS as started by us: tells whether this process has started one before."""


class DbosWorker:
    """A LearningWorker."""

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
        """Begin, unless the jobs of this queue are being done in this process.

        While another worker ends, begin as soon as it has ended. Raises ConfigError when the jobs
        of another queue are being done.
        """
        with _beginning:
            # One that is to end itself is left to: who stops it may close what it uses.
            if self in _begun:
                return
            for other in _begun:
                if not other._stopped.is_set():
                    _require_same(self._queue, other._queue)
                    return
            self._begin([other._thread for other in _begun if other._thread is not None])

    def _begin(self, before: list[threading.Thread]) -> None:
        self._ending, self._stopped = asyncio.Event(), threading.Event()
        self._ready.clear()
        self._thread = threading.Thread(
            target=self._run, args=(before,), name="learning", daemon=True
        )
        self._thread.start()
        _begun.append(self)

    async def stop(self, grace_s: float) -> None:
        """End; jobs that are not done in `grace_s` seconds wait again."""
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
            if self._comes_after(before):
                asyncio.run(self._work())
        except Exception as error:
            # Nobody waits for this thread; jobs stay, and are done by the next worker.
            died = f"{type(error).__name__}: {error}"
            if died != self._died:  # It is started again and again: each cause is reported once.
                logger.exception("learning_worker_died")
            self._died = died
        finally:
            with _beginning:
                self._ready.set()
                _begun.remove(self)

    def _comes_after(self, before: list[threading.Thread]) -> bool:
        """Wait for other workers to end; False when this one is to end before that."""
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
                    async with self._lock.hold(_place(self._name), wait_s=0):
                        await self._serve()
                except (StoreError, SessionBusyError) as error:
                    logger.warning("learning_waits code=%s", error.code)
                    await pause(_KEEP_S, self._ending)
        finally:
            await self._on_stop()

    async def _serve(self) -> None:
        """Do jobs until the end. Raises StoreError while the database is away."""
        await self._queue.counts()  # Connects, and brings the tables up to date.
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
            await self._keep()
        finally:
            try:
                await self._leave()
            finally:
                await _end_engine()
                if connections is not None:
                    connections.dispose()
                # Not before: the engine would take them up again.
                await self._give_back()

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

    async def _keep(self) -> None:
        """Take over from workers that died, and tidy up, until the end."""
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
                async with self._lock.hold(_place(other), wait_s=0):
                    # DBOS's own recovery for executors known to be dead. It has no public name;
                    # the public ones forget how often a job was started.
                    found = await asyncio.to_thread(DBOS._recover_pending_workflows, [other])
                    logger.info("learning_taken_over jobs=%d", len(found))

    async def _leave(self) -> None:
        """Let running jobs finish, and cut off those that take too long."""
        if self._jobs:
            await asyncio.wait(self._jobs, timeout=self._grace_s)
        unfinished = [task for task in self._jobs if not task.done()]
        for task in unfinished:
            task.cancel()
        if unfinished:
            await asyncio.wait(unfinished, timeout=_LEAVE_S)
        self._jobs.clear()

    async def _give_back(self) -> None:
        try:
            await self._queue.give_back(self._name)
        except StoreError as error:
            # Another worker will see that this one is gone.
            logger.warning("learning_not_given_back code=%s", error.code)

    async def _job(self, value: dict[str, Any]) -> dict[str, Any]:
        """One job from its begin to its end: the workflow."""
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
        """The tries that the job has had. While they cannot be read it waits, else it were dead."""
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
            "should_retry": _may_pass,
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
            # What it cost is lost to the budget; what was learnt is not.
            logger.warning("learning_not_noted job=%s code=%s", job_id, error.code)


def _require_same(queue: DbosLearningQueue, served: DbosLearningQueue) -> None:
    if queue is not served:
        raise ConfigError("this process already runs background learning over other stores")


def _place(worker: str) -> SessionKey:
    """What a worker holds while it lives; no user is called ''."""
    return SessionKey(APP, "", f"learning/{worker}")


def _may_pass(error: BaseException) -> bool:
    """Whether another try can help; else a person must look at it."""
    if isinstance(error, CorruptStoreError):
        return False
    return isinstance(error, ModelUnavailable | ModelOutputError | StoreError)


async def _end_engine() -> None:
    """End DBOS, on a thread of its own: the loop must go on to turn late jobs away."""
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1, thread_name_prefix="learning-end") as pool:
        await loop.run_in_executor(pool, lambda: DBOS.destroy(destroy_registry=True))
    # DBOS had put its own one here, which has ended with it.
    loop.set_default_executor(ThreadPoolExecutor(2, thread_name_prefix="learning"))
