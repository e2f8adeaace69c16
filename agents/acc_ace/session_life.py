"""What becomes of sessions and users: offload, deletion, erasure, export, background work."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from google.adk.models import BaseLlm
from google.adk.sessions import BaseSessionService

from acc_ace.at_work import begin_work
from acc_ace.exporting import Record, export_user
from acc_ace.housekeeping import Housekeeper, Reason
from config import Role
from core.adapters.bounded_sessions import BoundedSessions
from core.adapters.open_learning import kept_jobs
from core.container import Container
from core.errors import StoreError
from core.ports.learning_queue import LearningQueue
from core.turn.forgetting import forget_session, forget_undone
from schemas.job import Job, JobKind
from schemas.tenancy import SessionKey, Tenant

logger = logging.getLogger(__name__)


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
        self._keeper = Housekeeper(
            container,
            app,
            delete=lambda key: self._delete(key, keep_notes=True),
            erase=self._erase,
            models=models,
        )
        self._work: asyncio.Task[None] | None = None

    async def was_reset(self, key: SessionKey, turn: int) -> None:
        """Let the messages begin after `turn`, and offload what came before."""
        await self._container.directory.reset(key, turn=turn)
        if self._container.settings.offload:
            await self._keeper.ask_offload(key, Reason.RESET)
            self.wake()

    async def was_restored(self, key: SessionKey, turn: int) -> None:
        """Forget what is known from undone turns; bring back the messages of before a reset.

        The latter when the session went back across it.
        """
        await forget_undone(self._container, key, turn)
        record = await self._container.directory.find(key)
        if record is not None and turn < record.history_from:
            await self._container.directory.reset(key, turn=0)

    async def forget(self, key: SessionKey, *, keep_notes: bool) -> None:
        """Delete a session; with consent, what long-term memory extracts of it stays."""
        if keep_notes:
            await self._keeper.do(await self._keeper.ask(JobKind.DELETE, key))
        else:
            await self._delete(key, keep_notes=False)

    async def erase(self, tenant: Tenant) -> dict[str, int]:
        """Delete all that is held about a user; how much of what.

        A job is kept first, so that an erasure that was cut short is finished by the next
        process. Raises StoreError when something of the user is left, with where it is.
        """
        await self.rest(self._container.settings.limits.shutdown_grace_s)
        job = await self._keeper.ask(JobKind.ERASE, SessionKey(tenant.app, tenant.user, ""))
        erased = await self._erase(tenant)
        await self._container.jobs.finish(job.id)
        left = await self.residue(tenant)
        if left:
            places = ", ".join(f"{name} {count}" for name, count in left.items())
            raise StoreError(
                f"after erasing user '{tenant.user}' rows are left ({places}); "
                "a turn may have been running: erase again"
            )
        return erased

    async def residue(self, tenant: Tenant) -> dict[str, int]:
        """Rows that name the user, by place; empty when nothing is held."""
        rows = await self._container.erasure.residue(tenant)
        async with self._learning_jobs() as jobs:
            return {**rows, **(await jobs.residue(tenant) if jobs else {})}

    def export(self, tenant: Tenant) -> AsyncIterator[Record]:
        """All that is held about a user, record by record, each with its `kind`."""
        return export_user(self._container, self._sessions, tenant)

    async def housekeep(self) -> int:
        """Do the background work that is due, idle sessions included; how many jobs."""
        await self._keeper.sweep()
        return await self._keeper.work()

    def wake(self) -> None:
        """Let background work go on, unless it does already, for this app or another one."""
        self._work = begin_work(self._container, self._housekeep) or self._work

    async def close(self) -> None:
        """End background work, which gets the time of a shutdown, and close its models."""
        await self.rest(self._container.settings.limits.shutdown_grace_s)
        await self._keeper.close()

    async def rest(self, grace_s: float) -> None:
        """Wait for background work, then cancel it; what is left is done another time."""
        if self._work is None or self._work.done():
            return
        if self._work.get_loop() is not asyncio.get_running_loop():
            return  # Its loop has ended, and it with it.
        _, late = await asyncio.wait([self._work], timeout=grace_s)
        for task in late:
            task.cancel()
            await asyncio.wait([task])

    @asynccontextmanager
    async def keeping_house(self, *, every_s: float) -> AsyncIterator[None]:
        """Do background work every `every_s` seconds while the context is open."""

        async def keep() -> None:
            while True:
                self.wake()
                await asyncio.sleep(every_s)

        keeping = asyncio.create_task(keep())
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.wait([keeping])

    async def _housekeep(self) -> None:
        try:
            await self.housekeep()
        except StoreError as error:
            # Nobody waits for this; the jobs stay and are tried again after the next turn.
            logger.warning("housekeeping_failed code=%s", error.code)

    async def _delete(self, key: SessionKey, *, keep_notes: bool) -> None:
        # Before the session: a service that forgets what it deletes would take the notes along.
        await forget_session(self._container, key, keep_notes=keep_notes)
        await self._sessions.delete_session(
            app_name=key.app, user_id=key.user, session_id=key.session
        )

    async def _erase(self, tenant: Tenant) -> dict[str, int]:
        """Erase; the job that says so stays, for whoever must finish this, and is finished last."""
        job = Job.of(
            JobKind.ERASE,
            SessionKey(tenant.app, tenant.user, ""),
            at=self._container.clock.now(),
        )
        # What is still to be learned goes first: a lesson on its way finds its turn gone.
        async with self._learning_jobs() as jobs:
            learning = await jobs.erase(tenant) if jobs else 0
        # Sessions may be in a file of their own. Should this process die in between, the job
        # lets the next one erase the rest; where all is in one database nothing is in between.
        sessions = await self._erase_sessions(tenant)
        erased = await self._container.erasure.erase(tenant, job=job)
        return {
            **erased,
            "sessions": sessions + erased.get("sessions", 0),
            # The erasure itself is one of them.
            "jobs": max(0, erased["jobs"] - 1) + learning,
        }

    def _learning_jobs(self) -> AbstractAsyncContextManager[LearningQueue | None]:
        """The jobs of background learning, also those of a time when it was on."""
        return kept_jobs(self._container.settings, self._container.learning)

    async def _erase_sessions(self, tenant: Tenant) -> int:
        if isinstance(self._sessions, BoundedSessions):
            if self._sessions.beside_the_stores:
                return 0
            return await self._sessions.erase(tenant.app, tenant.user)
        found = await self._sessions.list_sessions(app_name=tenant.app, user_id=tenant.user)
        for session in found.sessions:
            await self._sessions.delete_session(
                app_name=tenant.app, user_id=tenant.user, session_id=session.id
            )
        return len(found.sessions)
