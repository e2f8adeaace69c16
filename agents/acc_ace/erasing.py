"""Erase a user from every store, also while turns of the user run or begin."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Final

from google.adk.sessions import BaseSessionService

from core.adapters.bounded_sessions import drop_session, erase_shared
from core.adapters.open_learning import kept_jobs
from core.container import Container
from core.errors import SessionBusyError, StoreError
from core.ports.learning_queue import LearningQueue
from core.turn.import_slots import all_import_slots
from schemas.job import Job
from schemas.tenancy import SessionKey, Tenant

_ROUNDS: Final = 5
"""How often sessions that begin meanwhile are erased too, before the user must try again."""


class UserEraser:
    """Over the stores and ADK's sessions of one process.

    A turn makes its session known before it writes anything else, and a session ceases to be
    known only while it is held. So once everything is erased and no session is known, no turn is
    left that could write what it was told before. Imports of documents are waited for, and
    refused for as long as the job is kept.
    """

    def __init__(self, container: Container, sessions: BaseSessionService) -> None:
        self._container, self._sessions = container, sessions

    async def erase(self, job: Job) -> dict[str, int]:
        """Erase the user of a job, which stays; how much of what.

        Doing it again deletes what is left. Raises SessionBusyError when a turn of the user runs
        for too long, or StoreError, also when something of the user is left.
        """
        erased: Counter[str] = Counter(sessions=0, directory=0)
        deadline = asyncio.get_running_loop().time() + self._container.settings.limits.turn_wait_s
        for _ in range(_ROUNDS):
            erased.update(await self._erase_once(job, deadline))
            if not await self._known(job.tenant):
                break
        else:
            raise StoreError(
                f"user '{job.user}' began new sessions all the while they were being erased; "
                "the erasure goes on in the background, or erase again"
            )
        await self._prove(job.tenant)
        return dict(erased)

    async def residue(self, tenant: Tenant) -> dict[str, int]:
        """Rows that name the user, by place; empty when nothing is held."""
        rows = await self._container.erasure.residue(tenant)
        async with self._learning_jobs() as jobs:
            return {**rows, **(await jobs.residue(tenant) if jobs else {})}

    async def _erase_once(self, job: Job, deadline: float) -> Counter[str]:
        # What is still to be learned goes first: a lesson on its way finds its turn gone.
        async with self._learning_jobs() as jobs:
            learning = await jobs.erase(job.tenant) if jobs else 0
        erased: Counter[str] = Counter()
        for name in await self._known(job.tenant):
            erased.update(await self._forget(SessionKey(*job.tenant, name), deadline))
        # Sessions may be in a file of their own. Should this process die in between, the job
        # lets the next one erase the rest.
        await erase_shared(self._sessions, job.tenant)
        # No turn of the user runs now.
        for forget in self._container.also_forget:
            forget()
        async with self._imports_over(job.tenant, deadline):
            erased.update(await self._container.erasure.erase(job.tenant, job=job))
        # The erasure itself is one of the jobs.
        erased["jobs"] = max(0, erased["jobs"] - 1) + learning
        return erased

    async def _forget(self, key: SessionKey, deadline: float) -> dict[str, int]:
        """Let a session no longer be known, once the turn that runs in it is over."""
        try:
            async with self._container.lock.hold(key, wait_s=_left_s(deadline)):
                found = await drop_session(self._sessions, key)
                recorded = await self._container.directory.erase(key.tenant, key.session)
        except SessionBusyError as error:
            raise SessionBusyError(
                f"user '{key.user}' is not erased yet: a turn of session '{key.session}' still "
                f"runs after {self._container.settings.limits.turn_wait_s:g} s; the erasure goes "
                "on in the background once the turn is over, or erase again then"
            ) from error
        return {"sessions": int(found), "directory": recorded}

    @asynccontextmanager
    async def _imports_over(self, tenant: Tenant, deadline: float) -> AsyncIterator[None]:
        """Wait for the documents that are being imported; none is while the context is open."""
        async with AsyncExitStack() as held:
            slots = all_import_slots(self._container, tenant, wait_s=_left_s(deadline))
            try:
                await held.enter_async_context(slots)
            except SessionBusyError as error:
                raise SessionBusyError(
                    f"user '{tenant.user}' is not erased yet: a document of theirs is still being "
                    f"imported after {self._container.settings.limits.turn_wait_s:g} s; the "
                    "erasure goes on in the background once the import is over, or erase again "
                    "then"
                ) from error
            yield

    async def _known(self, tenant: Tenant) -> list[str]:
        """The user's sessions, by whichever store knows of one."""
        found = await self._sessions.list_sessions(app_name=tenant.app, user_id=tenant.user)
        recorded = await self._container.directory.names(tenant)
        return sorted({*recorded, *(session.id for session in found.sessions)})

    async def _prove(self, tenant: Tenant) -> None:
        """Look that nothing but the job of the erasure itself is left."""
        left = {
            place: count - 1 if place.rpartition(".")[2] == "jobs" else count
            for place, count in (await self.residue(tenant)).items()
        }
        places = ", ".join(f"{place} {count}" for place, count in left.items() if count)
        if places:
            raise StoreError(
                f"after erasing user '{tenant.user}' rows are left ({places}); a turn may have "
                "begun meanwhile: the erasure goes on in the background, or erase again"
            )

    def _learning_jobs(self) -> AbstractAsyncContextManager[LearningQueue | None]:
        """The jobs of background learning, also those of a time when it was on."""
        return kept_jobs(self._container.settings, self._container.learning)


def _left_s(deadline: float) -> float:
    """Seconds until then, by the clock of the running loop."""
    return max(0.0, deadline - asyncio.get_running_loop().time())
