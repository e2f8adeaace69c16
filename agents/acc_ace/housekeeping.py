"""Background work on memory: summaries, offloads, deletions, erasures. Durable and repeatable."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from enum import StrEnum

from google.adk.models import BaseLlm

from acc_ace.direct_completion import DirectCompletion
from acc_ace.prompts import load_prompts
from config import Role
from core.container import Container
from core.errors import AccAceError, CorruptStoreError
from core.models.factory import build_model
from core.models.resilient import ResilientLlm
from core.turn.damaged_records import record_to_delete
from core.turn.offloading import offload
from core.turn.remembering import Past
from core.turn.summarising import summarise
from schemas.job import Job, JobKind, job_id
from schemas.session import SessionRecord
from schemas.session_memory import ConversationSummary, SessionMemory
from schemas.tenancy import SessionKey, Tenant

logger = logging.getLogger(__name__)

TRIES = 5
"""Tries before a job is given up; it stays listed with its error."""

_LEASE_S = 300.0
_BACKOFF_S = 30.0
_BATCH = 50
_PAGES = 4
"""Pages of idle sessions that one sweep looks through; the next one goes on behind them."""


class Reason(StrEnum):
    """Why a session's history goes to long-term memory."""

    RESET = "reset"
    IDLE = "idle"


class Housekeeper:
    """Does what is due. Any number of processes may do so over the same stores."""

    def __init__(
        self,
        container: Container,
        app: str,
        *,
        delete: Callable[[SessionKey], Awaitable[object]],
        erase: Callable[[Job], Awaitable[object]],
        models: Mapping[Role, BaseLlm] | None = None,
    ) -> None:
        """`delete` and `erase` finish what was begun of a session and of a user.

        `erase` leaves its job, and raises AccAceError while anything of the user is left.
        """
        settings, chosen, prompts = container.settings, models or {}, load_prompts()
        self._container, self._app = container, app
        self._delete, self._erase = delete, erase
        summarizer = chosen.get("compressor") or build_model("compressor", settings)
        extractor = chosen.get("reflector") or build_model("reflector", settings)
        self._models = (summarizer, extractor)
        self._summarizer = DirectCompletion(summarizer, ConversationSummary, settings.compressor)
        self._extractor = DirectCompletion(extractor, SessionMemory, settings.reflector)
        self._prompts = prompts
        self._swept: tuple[SessionKey, SessionRecord] | None = None
        self._doing: Job | None = None
        self._sweeps = False

    async def close(self) -> None:
        """Close the connections of the models that keep some."""
        for model in self._models:
            if isinstance(model, ResilientLlm):
                await model.aclose()

    def is_at_work_for(self, tenant: Tenant) -> bool:
        """Whether a job of the user is being done in the background, or jobs are looked for."""
        return self._sweeps or (self._doing is not None and self._doing.tenant == tenant)

    async def sweep(self) -> int:
        """Ask for the offload of sessions that have been idle for too long; how many."""
        settings = self._container.settings
        if not settings.offload or not settings.idle_s:
            return 0
        self._sweeps = True
        try:
            return await self._ask_for_idle(settings.idle_s)
        finally:
            self._sweeps = False

    async def _ask_for_idle(self, idle_s: float) -> int:
        since = self._container.clock.now() - timedelta(seconds=idle_s)
        asked = 0
        for _ in range(_PAGES):
            idle = await self._container.directory.idle(
                self._app, since=since, limit=_BATCH, after=self._swept
            )
            self._swept = idle[-1] if len(idle) == _BATCH else None
            for key, record in idle:
                if not await self._asked(key, since=record.active_at):
                    await self.ask_offload(key, Reason.IDLE)
                    asked += 1
            if asked >= _BATCH or self._swept is None:
                break
        return asked

    async def ask_offload(self, key: SessionKey, reason: Reason) -> None:
        """Let the session's history go to long-term memory soon."""
        await self.ask(JobKind.OFFLOAD, key, detail=reason)

    async def ask(self, kind: JobKind, key: SessionKey, *, detail: str = "") -> Job:
        """Keep a job; the same one is kept once."""
        job = Job.of(kind, key, at=self._container.clock.now(), detail=detail)
        await self._container.jobs.enqueue(job)
        return job

    async def take(self, kind: JobKind, key: SessionKey) -> Job:
        """Keep a job that the caller does now; nobody else begins it unless that takes too long."""
        job = await self._own(kind, key)
        await self._container.jobs.enqueue(job)
        return job

    async def do_now(self, kind: JobKind, key: SessionKey) -> None:
        """Do a job that its caller waits for. One that fails is tried again in the background.

        Raises what it fails with.
        """
        job = await self._own(kind, key)
        # One that is left may be of an earlier session of the name.
        await self._container.jobs.replace(job)
        try:
            await self.do(job)
        except Exception as error:
            await self.failed(job, error)
            raise

    async def work(self, *, limit: int = _BATCH) -> int:
        """Do what is due, at most `limit` jobs; how many were done.

        A job that fails is due again later, and given up after TRIES. Raises StoreError when the
        jobs themselves cannot be read.
        """
        done = 0
        for _ in range(limit):
            job = await self._container.jobs.claim(
                now=self._container.clock.now(), lease_s=_LEASE_S
            )
            if job is None:
                break
            self._doing = job
            try:
                done += await self._tried(job)
            finally:
                self._doing = None
        return done

    async def do(self, job: Job) -> None:
        """Do a job now and forget it. Raises AccAceError; the job then stays."""
        match job.kind:
            case JobKind.SUMMARISE:
                await self._summarise(job.key)
            case JobKind.OFFLOAD:
                await self._offload(job.key)
            case JobKind.DELETE:
                await self._offload(job.key, outlives_session=True)
                await self._delete(job.key)
            case JobKind.ERASE:
                await self._erase(job)
        await self._container.jobs.finish(job.id)

    async def failed(self, job: Job, error: Exception) -> None:
        """Let a job be due again later, or give it up after TRIES. Raises StoreError."""
        if isinstance(error, AccAceError):
            code, reason, trace = error.code, str(error), None
        else:
            code, reason, trace = "internal", f"{type(error).__name__}: {error}", error
        logger.warning(
            "job_failed kind=%s id=%s code=%s tries=%d",
            *(job.kind, job.id, code, job.tries),
            exc_info=trace,
        )
        again = self._container.clock.now() + timedelta(seconds=_BACKOFF_S * 2**job.tries)
        if job.tries >= TRIES:
            logger.error("job_given_up kind=%s id=%s: %s", job.kind, job.id, reason)
        due_at = again if job.tries < TRIES else None
        await self._container.jobs.fail(job.id, error=reason[:500], due_at=due_at)

    async def _tried(self, job: Job) -> bool:
        try:
            if job.kind is JobKind.DELETE:
                # Whoever asked for it held the session, and is gone or done by now. What has
                # begun under that name since must stay.
                async with self._hold(job.key):
                    known = await self._container.jobs.find(job.id)
                    if known is None or await self._is_overtaken(known):
                        return False
                    await self.do(job)
            else:
                await self.do(job)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other jobs must go on
            await self.failed(job, error)
            return False
        return True

    async def _own(self, kind: JobKind, key: SessionKey) -> Job:
        """A job that its caller does now: work on a user, or the deletion of a session."""
        now = self._container.clock.now()
        record = await record_to_delete(self._container, key) if key.session else None
        changes = {
            "due_at": now + timedelta(seconds=_LEASE_S),
            "session_began": record.created_at if record else None,
        }
        return Job.of(kind, key, at=now).model_copy(update=changes)

    async def _is_overtaken(self, job: Job) -> bool:
        """Whether the session of a deletion is gone; ends the job then.

        Its record goes last, and one that has begun since has another record.
        """
        if job.session_began is None:
            return False
        record = await self._container.directory.find(job.key)
        if record is not None and record.created_at == job.session_began:
            return False
        await self._container.jobs.finish(job.id)
        return True

    async def _asked(self, key: SessionKey, *, since: datetime) -> bool:
        """Whether the offload of an idle session is a job, or was given up with nothing said since.

        What is read while nothing is said need not be read once more.
        """
        asked = job_id(JobKind.OFFLOAD, key, Reason.IDLE)
        try:
            job = await self._container.jobs.find(asked)
        except CorruptStoreError as error:
            logger.warning("job_passed_over id=%s: %s", asked, error)
            return True
        return job is not None and (not job.given_up or job.created_at >= since)

    async def _summarise(self, key: SessionKey) -> None:
        container = self._container
        before: SessionRecord | None = None
        # A record that a summary did not change took it for late, as it would the next one.
        while (record := await container.directory.find(key)) and record != before:
            summary = await summarise(
                Past(
                    key=key,
                    evidence=container.evidence,
                    artifacts=container.artifacts,
                    summary=record.summary,
                    after_turn=record.history_from,
                    restores=record.restores,
                    began=record.created_at,
                ),
                completion=self._summarizer,
                prompt=self._prompts.summarizer,
                limits=container.settings.limits,
                now=container.clock.now(),
            )
            if summary is None:
                return
            await container.directory.summarise(key, summary)
            before = record

    async def _offload(self, key: SessionKey, *, outlives_session: bool = False) -> None:
        await offload(
            self._container,
            key,
            completion=self._extractor,
            prompt=self._prompts.extractor,
            outlives_session=outlives_session,
        )

    def _hold(self, key: SessionKey) -> AbstractAsyncContextManager[None]:
        wait_s = self._container.settings.limits.turn_wait_s
        return self._container.lock.hold(key, wait_s=wait_s)
