"""What becomes of sessions and users: offload, deletion, erasure, export, background work."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from google.adk.models import BaseLlm
from google.adk.sessions import BaseSessionService

from acc_ace.at_work import begin_work
from acc_ace.erasing import UserEraser
from acc_ace.exporting import Record, export_user
from acc_ace.housekeeping import Housekeeper, Reason
from config import Role
from core.adapters.bounded_sessions import drop_session
from core.container import Container
from core.errors import AccAceError
from core.turn.forgetting import (
    forget_record,
    forget_words,
    is_begun,
    knows_session,
    withdraw_consent,
)
from schemas.job import JobKind, job_id
from schemas.tenancy import SessionKey, Tenant

logger = logging.getLogger(__name__)

_LOOK_S = 0.05
"""How often an erasure that waits looks whether background work has gone on to another user."""


class SessionLife:
    """Over the stores and ADK's sessions of one process. Holds no lock: its callers do."""

    def __init__(
        self,
        container: Container,
        app: str,
        sessions: BaseSessionService,
        *,
        models: Mapping[Role, BaseLlm] | None = None,
    ) -> None:
        self._container, self._sessions = container, sessions
        self._eraser = UserEraser(container, sessions)
        self._keeper = Housekeeper(
            container,
            app,
            delete=lambda key: self._delete(key, keep_notes=True),
            erase=self._eraser.erase,
            models=models,
        )
        self._work: asyncio.Task[int] | None = None

    async def was_reset(self, key: SessionKey, turn: int) -> None:
        """Let the messages begin after `turn`, and offload what came before."""
        await self._container.directory.reset(key, turn=turn)
        if self._container.settings.offload:
            await self._keeper.ask_offload(key, Reason.RESET)
            self.wake()

    async def forget(self, key: SessionKey, *, keep_notes: bool) -> bool:
        """Delete a session; whether anything of it was held.

        With consent, what long-term memory extracts of it stays.
        """
        if keep_notes:
            return await self._forget_with_consent(key)
        # One that was begun before would delete what begins under that name from now on.
        await withdraw_consent(self._container, key)
        return await self._delete(key, keep_notes=False)

    async def erase(self, tenant: Tenant) -> dict[str, int]:
        """Delete all that is held about a user; how much of what.

        A job is kept first, so that an erasure that was cut short is finished in the background,
        if need be by another process. Raises SessionBusyError when a turn of the user runs for
        too long, or StoreError when something of the user is left, with where it is.
        """
        await self._rest_of(tenant)
        job = await self._keeper.take(JobKind.ERASE, SessionKey(tenant.app, tenant.user, ""))
        try:
            erased = await self._eraser.erase(job)
        except Exception as error:
            await self._keeper.failed(job, error)
            raise
        await self._container.jobs.finish(job.id)
        return erased

    async def residue(self, tenant: Tenant) -> dict[str, int]:
        """Rows that name the user, by place; empty when nothing is held."""
        return await self._eraser.residue(tenant)

    def export(self, tenant: Tenant) -> AsyncIterator[Record]:
        """All that is held about a user, record by record, each with its `kind`."""
        return export_user(self._container, self._sessions, tenant)

    async def housekeep(self) -> int:
        """Do the background work that is due, idle sessions included; how many jobs.

        What was begun after a turn is finished first, and counts. Raises StoreError when the jobs
        cannot be read.
        """
        if (begun := self._running()) is None:
            return await self._keep_house()
        await asyncio.wait([begun])
        done = 0 if begun.cancelled() else begun.result()
        return done + await self._keep_house()

    def wake(self) -> None:
        """Let background work go on, unless it does already, for this app or another one."""
        self._work = begin_work(self._container, self._housekeep) or self._work

    async def close(self) -> None:
        """End background work, which gets the time of a shutdown, and close its models."""
        await self.rest(self._container.settings.limits.shutdown_grace_s)
        await self._keeper.close()

    async def rest(self, grace_s: float) -> None:
        """Wait for background work, then cancel it; what is left is done another time."""
        if (work := self._running()) is None:
            return
        _, late = await asyncio.wait([work], timeout=grace_s)
        for task in late:
            task.cancel()
            await asyncio.wait([task])

    def _running(self) -> asyncio.Task[int] | None:
        """The background work that runs, and whose loop does: it may be waited for."""
        work = self._work
        if work is None or work.done() or work.get_loop() is not asyncio.get_running_loop():
            return None
        return work

    async def _rest_of(self, tenant: Tenant) -> None:
        """Wait for background work on a user, then cancel it; that on others goes on."""
        until = time.monotonic() + self._container.settings.limits.shutdown_grace_s
        while (work := self._running()) is not None and self._keeper.is_at_work_for(tenant):
            if (left := until - time.monotonic()) <= 0:
                await self.rest(0)
                return
            await asyncio.wait([work], timeout=min(_LOOK_S, left))

    @asynccontextmanager
    async def keeping_house(
        self, *, every_s: float, beside: Callable[[], None]
    ) -> AsyncIterator[None]:
        """Do background work, and what goes `beside` it, every `every_s` seconds while open."""

        async def keep() -> None:
            while True:
                self.wake()
                beside()
                await asyncio.sleep(every_s)

        keeping = asyncio.create_task(keep())
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.wait([keeping])

    async def _keep_house(self) -> int:
        try:
            await self._keeper.sweep()
        except Exception as error:  # noqa: BLE001 - whatever it is, the jobs there are must go on
            _warn("sweep_failed", error)
        return await self._keeper.work()

    async def _housekeep(self) -> int:
        try:
            return await self._keep_house()
        except Exception as error:  # noqa: BLE001 - nobody waits for this; the jobs stay
            _warn("housekeeping_failed", error)
        return 0

    async def _forget_with_consent(self, key: SessionKey) -> bool:
        if await knows_session(self._container, key):
            await self._keeper.do_now(JobKind.DELETE, key)
            return True
        # One that was sent before may have ended but for its job. What it kept stays.
        begun = await is_begun(self._container, key)
        deleted = await self._delete(key, keep_notes=True)
        await self._container.jobs.finish(job_id(JobKind.DELETE, key))
        return begun or deleted

    async def _delete(self, key: SessionKey, *, keep_notes: bool) -> bool:
        # The stores last, and there the record: once there is another one, all of this session is
        # gone, and nobody finishes its deletion any more.
        dropped = await drop_session(self._sessions, key)
        deleted = await forget_words(self._container, key, keep_notes=keep_notes)
        deleted += await forget_record(self._container, key, keep_notes=keep_notes)
        return dropped or deleted > 0


def _warn(event: str, error: Exception) -> None:
    """Log what is tried again after the next turn; with its trace if it is a defect of ours."""
    code, trace = (error.code, None) if isinstance(error, AccAceError) else ("internal", error)
    logger.warning("%s code=%s: %s", event, code, error, exc_info=trace)
