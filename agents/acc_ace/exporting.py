"""Export of all that is held about a user, one record after the other."""

from collections.abc import AsyncIterator
from typing import Any

from google.adk.sessions import BaseSessionService

from core.adapters.open_learning import kept_jobs
from core.container import Container
from core.ports.artifact_listing import ArtifactListing
from schemas.base import Value
from schemas.session import SessionRecord
from schemas.tenancy import PlaybookScope, SessionKey, Tenant

Record = dict[str, Any]
"""JSON-safe, with its `kind`."""

_PAGE = 100
_JOBS = 100_000


async def export_user(
    container: Container, sessions: BaseSessionService, tenant: Tenant
) -> AsyncIterator[Record]:
    """Sessions, states, turns, artifacts, own playbook, lessons taught, jobs, chat events.

    Memory stays flat however much is held. What a store cannot list is said in a record of the
    kind `missing`; the last record is `end`. Raises StoreError.
    """
    yield {"kind": "user", "app": tenant.app, "user": tenant.user}
    async for key, session in _sessions(container, tenant):
        yield session
        async for record in _states(container, key):
            yield record
        async for record in _turns(container, key):
            yield record
        async for record in _events(sessions, key):
            yield record
    async for record in _artifacts(container, tenant):
        yield record
    async for record in _playbook(container, tenant):
        yield record
    for job in await container.jobs.list(tenant, limit=_JOBS):
        yield _record("job", job)
    async for record in _learning_jobs(container, tenant):
        yield record
    yield {"kind": "end"}


async def _sessions(
    container: Container, tenant: Tenant
) -> AsyncIterator[tuple[SessionKey, Record]]:
    """Sessions of the directory, and those of the journal that are older than the directory."""
    known: set[str] = set()
    before: str | None = None
    while page := await container.directory.list(tenant, limit=_PAGE, before=before):
        for session in page:
            known.add(session.session)
            yield SessionKey(*tenant, session.session), _record("session", session)
        before = page[-1].session
    before = None
    while rows := await container.journal.sessions(tenant, limit=_PAGE, before=before):
        for name, head in rows:
            if name not in known:
                session = SessionRecord(
                    session=name, created_at=head.created_at, active_at=head.created_at
                )
                yield SessionKey(*tenant, name), _record("session", session)
        before = rows[-1][0]


async def _states(container: Container, key: SessionKey) -> AsyncIterator[Record]:
    before: int | None = None
    while page := await container.journal.history(key, limit=_PAGE, before_version=before):
        for entry in page:
            yield _record("state", entry, session=key.session)
        before = page[-1].state.version


async def _turns(container: Container, key: SessionKey) -> AsyncIterator[Record]:
    before: str | None = None
    while page := await container.evidence.list(key, limit=_PAGE, before=before):
        for turn in page:
            yield _record("turn", turn, session=key.session)
        before = page[-1].invocation_id


async def _events(sessions: BaseSessionService, key: SessionKey) -> AsyncIterator[Record]:
    session = await sessions.get_session(app_name=key.app, user_id=key.user, session_id=key.session)
    for event in session.events if session else []:
        value = event.model_dump(mode="json", exclude_none=True)
        yield {"kind": "event", "session": key.session, "value": value}


async def _artifacts(container: Container, tenant: Tenant) -> AsyncIterator[Record]:
    store = container.artifacts
    if not isinstance(store, ArtifactListing):
        count = await store.count(tenant)
        if count:
            yield {"kind": "missing", "what": "artifacts", "count": count}
        return
    after: str | None = None
    while page := await store.page(tenant, limit=_PAGE, after=after):
        for artifact in page:
            yield _record("artifact", artifact)
        after = page[-1].artifact_id


async def _playbook(container: Container, tenant: Tenant) -> AsyncIterator[Record]:
    """The user's own playbook, and what the user's turns wrote into the app's; all branches."""
    for scope in await _branches(container, PlaybookScope(tenant.app, tenant.user)):
        own = await container.playbooks.load(scope)
        if own.version:
            yield _record("playbook", own)
    for scope in await _branches(container, PlaybookScope(tenant.app)):
        before: int | None = None
        while page := await container.playbooks.deltas(scope, limit=_PAGE, before=before):
            for delta in page:
                if delta.user == tenant.user:
                    yield _record("lesson", delta)
            before = page[-1].seq


async def _branches(container: Container, scope: PlaybookScope) -> list[PlaybookScope]:
    """The main branch and all others."""
    return [scope, *(branch.scope for branch in await container.playbooks.branches(scope))]


async def _learning_jobs(container: Container, tenant: Tenant) -> AsyncIterator[Record]:
    async with kept_jobs(container.settings, container.learning) as queue:
        offset = 0
        while queue and (page := await queue.list(tenant=tenant, limit=_PAGE, offset=offset)):
            for job in page:
                yield _record("learning_job", job)
            offset += len(page)


def _record(kind: str, value: Value, **more: str) -> Record:
    return {"kind": kind, **more, "value": value.model_dump(mode="json")}
