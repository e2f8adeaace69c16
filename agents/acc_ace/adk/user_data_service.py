"""Erase a user's data in every app, or export it record by record."""

import asyncio
from base64 import b64encode
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Final

from google.adk.sessions import BaseSessionService

from acc_ace.adk.learning_jobs import kept_jobs
from acc_ace.adk.session_export import PAGE, Record, export_sessions, record
from acc_ace.adk.sessions.session_pages import session_pages
from acc_ace.adk.sessions.session_services import drop_session, erase_shared, is_beside
from acc_ace.container import Container
from acc_ace.core.schemas.base import PlaybookScope, SessionKey, Tenant
from acc_ace.core.schemas.cost import DaySum
from acc_ace.core.schemas.playbook import DeltaRecord
from acc_ace.errors import SessionBusyError
from acc_ace.memory.artifact_store import ArtifactListing
from acc_ace.turn.learning_queue import LearningQueue
from acc_ace.turn.ports import UserFile

__all__ = ["Record", "export_user"]


async def export_user(
    container: Container, sessions: BaseSessionService, tenant: Tenant
) -> AsyncIterator[Record]:
    """Rules, spending, sessions with states, turns and events, artifacts, playbook, jobs, files.

    Memory use is constant, except for one file at a time. What a store cannot list or read is
    reported in a record of the kind `missing`; the last record is `end`. Raises StoreError.
    """
    yield {"kind": "user", "app": tenant.app, "user": tenant.user}
    for part in (
        _rules(container, tenant),
        _compressors(container, tenant),
        _spending(container, tenant),
        export_sessions(container, sessions, tenant),
        _artifacts(container, tenant),
        _own_playbook(container, tenant),
        _lessons(container, tenant),
        _learning_jobs(container, tenant),
        _files(container, tenant),
    ):
        async for item in part:
            yield item
    yield {"kind": "end"}


async def _rules(container: Container, tenant: Tenant) -> AsyncIterator[Record]:
    """The rules that hold in every session of the user."""
    rules, _ = await container.user_rules.of_user(tenant)
    for pin in rules:
        yield record("rule", pin)


async def _compressors(container: Container, tenant: Tenant) -> AsyncIterator[Record]:
    """How well the user's compressors have read rules."""
    for _, ccm, marks in await container.ccm_records.of_user(tenant):
        yield {"kind": "compressor", **ccm._asdict(), "marks": marks}


async def _spending(container: Container, tenant: Tenant) -> AsyncIterator[Record]:
    """What the user's model calls cost, by day and session."""
    after: DaySum | None = None
    while page := await container.spending.store.days(tenant, limit=PAGE, after=after):
        for spent in page:
            yield record("spending", spent)
        after = page[-1]


async def _artifacts(container: Container, tenant: Tenant) -> AsyncIterator[Record]:
    store = container.artifacts
    if not isinstance(store, ArtifactListing):
        count = await store.count(tenant)
        if count:
            yield {"kind": "missing", "what": "artifacts", "count": count}
        return
    after: str | None = None
    while page := await store.page(tenant, limit=PAGE, after=after):
        for artifact in page:
            yield record("artifact", artifact)
        after = page[-1].artifact_id


async def apps_of_user(container: Container, user: str) -> list[str]:
    """The apps whose rows, files or learning jobs hold data of a user. Raises StoreError."""
    names = await container.erasure.apps(user)
    async with kept_jobs(container.settings, container.learning) as queue:
        names |= await queue.apps(user) if queue else set()
    return sorted(names)


async def shown_only(container: Container, tenant: Tenant) -> AsyncIterator[Record]:
    """What no row of the user holds: lessons in the app's playbook, and learning jobs."""
    for part in (_lessons(container, tenant), _learning_jobs(container, tenant)):
        async for item in part:
            yield item


async def _own_playbook(container: Container, tenant: Tenant) -> AsyncIterator[Record]:
    """The user's own playbook with its delta log, in which removed bullets are."""
    scope = PlaybookScope(tenant.app, tenant.user)
    own = await container.playbooks.load(scope)
    if own.version:
        yield record("playbook", own)
    async for delta in _log(container, scope):
        yield record("delta", delta)


async def _lessons(container: Container, tenant: Tenant) -> AsyncIterator[Record]:
    """What the user's turns wrote into the app's playbook."""
    async for delta in _log(container, PlaybookScope(tenant.app)):
        if delta.user == tenant.user:
            yield record("lesson", delta)


async def _log(container: Container, scope: PlaybookScope) -> AsyncIterator[DeltaRecord]:
    before: int | None = None
    while page := await container.playbooks.deltas(scope, limit=PAGE, before=before):
        for delta in page:
            yield delta
        before = page[-1].seq


async def _learning_jobs(container: Container, tenant: Tenant) -> AsyncIterator[Record]:
    async with kept_jobs(container.settings, container.learning) as queue:
        offset = 0
        while queue and (page := await queue.list(tenant=tenant, limit=PAGE, offset=offset)):
            for job in page:
                yield record("learning_job", job)
            offset += len(page)


async def _files(container: Container, tenant: Tenant) -> AsyncIterator[Record]:
    """ADK's artifacts, with every version and its metadata."""
    async for file in container.files.export(tenant):
        yield {"kind": "file", "path": file.path, "value": _content(file)}


def _content(file: UserFile) -> dict[str, str]:
    try:
        return {"text": file.content.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(file.content).decode("ascii")}


_ROUNDS: Final = 5
"""Attempts at an erasure while new sessions start, before the user must repeat it."""

_HELD: Final = 200
"""Session locks taken at a time: each costs an open file. A user who has more is erased in
several transactions, of which the last deletes the user's row."""


class UserDataService:
    """Erases and exports a user over the stores and the ADK sessions of one process."""

    def __init__(self, container: Container, sessions: BaseSessionService, app: str) -> None:
        """`app` is exported even if it holds nothing."""
        self._container, self._sessions, self._app = container, sessions, app

    async def apps(self, user: str) -> list[str]:
        """The apps that hold data of a user. Raises StoreError."""
        beside = await session_pages(self._sessions).apps(user)
        return sorted({*await apps_of_user(self._container, user), *beside})

    async def erase(self, user: str, *, app: str | None = None) -> dict[str, dict[str, int]]:
        """Erase a user from an app, or from all; return the counts by app and kind.

        Raises SessionBusyError while a turn of the user runs for too long, or StoreError.
        """
        apps = [app] if app else sorted({self._app, *await self.apps(user)})
        erased = {name: await self.erase_from(Tenant(name, user)) for name in apps}
        return {name: counts for name, counts in erased.items() if app or any(counts.values())}

    async def erase_from(self, tenant: Tenant) -> dict[str, int]:
        """Erase a user from one app: rows in one transaction, then files; return the counts.

        The sessions are locked, so that no running turn writes back what it has read. A repeat
        deletes files that could not be deleted. Raises SessionBusyError or StoreError.
        """
        erased: Counter[str] = Counter()
        deadline = asyncio.get_running_loop().time() + self._container.settings.limits.turn_wait_s
        for _ in range(_ROUNDS):
            *many, names = _batches(await self._known(tenant))
            for some in many:
                async with self._locked(some, deadline):
                    erased.update(await self._dropped(some))
                    erased.update(await self._container.erasure.delete_sessions(some))
            async with self._locked(names, deadline):
                erased.update(await self._erase_jobs(tenant))
                erased.update(await self._dropped(names))
                locked = [key.session for key in names]
                counts = await self._container.erasure.erase(tenant, locked=locked)
                if counts is not None:
                    await erase_shared(self._sessions, tenant)
                    erased.update(counts)
                    return dict(erased)
        raise SessionBusyError(
            f"user '{tenant.user}' is not erased yet, because new sessions kept starting; "
            "erase again"
        )

    async def export(self, user: str, *, app: str | None = None) -> AsyncIterator[Record]:
        """Export a user's data in an app, or in all, one after the other.

        Each app starts with a record `user`; the last record of all is `end`. Raises StoreError.
        """
        for name in [app] if app else await self.apps(user) or [self._app]:
            async for each in export_user(self._container, self._sessions, Tenant(name, user)):
                if each["kind"] != "end":
                    yield each
        yield {"kind": "end"}

    def export_from(self, tenant: Tenant) -> AsyncIterator[Record]:
        """Export a user's data in one app, record by record, each with its `kind`."""
        return export_user(self._container, self._sessions, tenant)

    async def _known(self, tenant: Tenant) -> list[SessionKey]:
        """The user's sessions that any store knows."""
        known = set(await self._container.erasure.sessions(tenant))
        if not self._is_beside:
            response = await self._sessions.list_sessions(app_name=tenant.app, user_id=tenant.user)
            known |= {session.id for session in response.sessions}
        return [SessionKey(*tenant, name) for name in sorted(known)]

    @asynccontextmanager
    async def _locked(self, keys: Sequence[SessionKey], deadline: float) -> AsyncIterator[None]:
        """Lock sessions, waiting for the turns that run in them."""
        async with AsyncExitStack() as stack:
            for key in keys:
                left_s = max(0.0, deadline - asyncio.get_running_loop().time())
                try:
                    hold = self._container.lock.hold(key, wait_s=left_s)
                    await stack.enter_async_context(hold)
                except SessionBusyError as error:
                    raise SessionBusyError(
                        f"user '{key.user}' is not erased yet: a turn of session '{key.session}' "
                        f"still runs after {self._container.settings.limits.turn_wait_s:g} s; "
                        "erase again once the turn is over"
                    ) from error
            yield

    async def _dropped(self, keys: Sequence[SessionKey]) -> dict[str, int]:
        """Delete sessions of a service that keeps them elsewhere."""
        if self._is_beside:
            return {}
        return {"sessions": sum([await drop_session(self._sessions, key) for key in keys])}

    async def _erase_jobs(self, tenant: Tenant) -> dict[str, int]:
        """Delete the user's learning jobs; a running one finds no turn to learn from."""
        async with self._learning_jobs() as jobs:
            return {"jobs": await jobs.erase(tenant) if jobs else 0}

    @property
    def _is_beside(self) -> bool:
        return is_beside(self._sessions, self._container.database)

    def _learning_jobs(self) -> AbstractAsyncContextManager[LearningQueue | None]:
        """The queue of background learning, also after it was switched off."""
        return kept_jobs(self._container.settings, self._container.learning)


def total(erased: dict[str, dict[str, int]]) -> dict[str, int]:
    """The deleted counts by kind, summed over all apps."""
    names = dict.fromkeys(name for counts in erased.values() for name in counts)
    return {name: sum(counts.get(name, 0) for counts in erased.values()) for name in names}


def _batches(keys: Sequence[SessionKey]) -> list[list[SessionKey]]:
    """Keys in batches; one empty batch if there are none."""
    return [list(keys[at : at + _HELD]) for at in range(0, max(len(keys), 1), _HELD)]
