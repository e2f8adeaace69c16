"""A user in every app that holds anything of them: who erases or exports need not know which."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Final, Protocol

from google.adk.sessions import BaseSessionService

from acc_ace.exporting import Record, export_user
from core.adapters.open_learning import kept_jobs
from core.adapters.session_pages import session_pages
from core.container import Container
from core.errors import StoreError
from schemas.job import Job, JobKind
from schemas.tenancy import SessionKey, Tenant

_PATIENCE: Final = timedelta(minutes=10)
"""Time for the erasure that was asked for, before another process finishes it."""


class Eraser(Protocol):
    """Erases a user of one app, and is not done before nothing is left."""

    async def erase(self, tenant: Tenant) -> dict[str, int]:
        """Delete all that is held; how much of what. Raises StoreError."""
        ...


class WholeUser:
    """A user over the stores and the ADK sessions of one process."""

    def __init__(self, container: Container, sessions: BaseSessionService, app: str) -> None:
        """`app` is told of even if it holds nothing."""
        self._container, self._sessions, self._app = container, sessions, app

    async def apps(self, user: str) -> list[str]:
        """The apps that hold anything of a user. Raises StoreError."""
        container = self._container
        found = await container.erasure.apps(user)
        found |= await session_pages(self._sessions, container.journal).apps(user)
        async with kept_jobs(container.settings, container.learning) as queue:
            found |= await queue.apps(user) if queue else set()
        return sorted(found)

    async def erase(
        self, user: str, eraser: Eraser, *, app: str | None = None
    ) -> dict[str, dict[str, int]]:
        """Erase a user from an app, or from all; how much of what was deleted, by app.

        What was begun is finished by another process should this one die. Raises StoreError.
        """
        apps = [app] if app else sorted({self._app, *await self.apps(user)})
        for name in apps:
            await self._promise(Tenant(name, user))
        erased = {name: await eraser.erase(Tenant(name, user)) for name in apps}
        left = [] if app else await self.apps(user)
        if left:
            raise StoreError(
                f"after erasing user '{user}' something is held again in {', '.join(left)}; "
                "a turn may have been running: erase again"
            )
        return {name: counts for name, counts in erased.items() if app or any(counts.values())}

    async def export(self, user: str, *, app: str | None = None) -> AsyncIterator[Record]:
        """All that is held about a user in an app, or in all, one after the other.

        Each app begins with a record `user`; the last record of all is `end`. Raises StoreError.
        """
        for name in [app] if app else await self.apps(user) or [self._app]:
            async for record in export_user(self._container, self._sessions, Tenant(name, user)):
                if record["kind"] != "end":
                    yield record
        yield {"kind": "end"}

    async def _promise(self, tenant: Tenant) -> None:
        """Keep that the user is to be erased, for a process that comes after this one."""
        now = self._container.clock.now()
        job = Job.of(JobKind.ERASE, SessionKey(*tenant, ""), at=now)
        await self._container.jobs.enqueue(job.model_copy(update={"due_at": now + _PATIENCE}))


def total(erased: dict[str, dict[str, int]]) -> dict[str, int]:
    """How much of what was deleted, of all apps together."""
    names = dict.fromkeys(name for counts in erased.values() for name in counts)
    return {name: sum(counts.get(name, 0) for counts in erased.values()) for name in names}
