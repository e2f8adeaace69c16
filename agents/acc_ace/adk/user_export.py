"""Export of all that is held about a user of an app, one record after the other."""

from base64 import b64encode
from collections.abc import AsyncIterator

from google.adk.sessions import BaseSessionService

from acc_ace.adk.session_export import PAGE, Record, export_sessions, record
from acc_ace.container import Container
from acc_ace.learning.create_learning_queue import kept_jobs
from acc_ace.memory.artifact_store import ArtifactListing
from acc_ace.schemas.base import PlaybookScope, Tenant
from acc_ace.turn.ports import UserFile

__all__ = ["Record", "export_user"]


async def export_user(
    container: Container, sessions: BaseSessionService, tenant: Tenant
) -> AsyncIterator[Record]:
    """Sessions, states, turns, chat events, artifacts, own playbook, lessons, jobs, files.

    Memory stays flat however much is held, one file at a time aside. What a store cannot list or
    read is said in a record of the kind `missing`; the last record is `end`. Raises StoreError.
    """
    yield {"kind": "user", "app": tenant.app, "user": tenant.user}
    for part in (
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


async def _own_playbook(container: Container, tenant: Tenant) -> AsyncIterator[Record]:
    """The user's own playbook on all branches, and how each came to be what it is.

    What was removed from it is in the records of that.
    """
    for scope in await _branches(container, PlaybookScope(tenant.app, tenant.user)):
        own = await container.playbooks.load(scope)
        if own.version:
            yield record("playbook", own, branch=scope.branch)
        before: int | None = None
        while page := await container.playbooks.deltas(scope, limit=PAGE, before=before):
            for delta in page:
                yield record("delta", delta, branch=scope.branch)
            before = page[-1].seq


async def _lessons(container: Container, tenant: Tenant) -> AsyncIterator[Record]:
    """What the user's turns wrote into the app's playbook, on all branches."""
    for scope in await _branches(container, PlaybookScope(tenant.app)):
        before: int | None = None
        while page := await container.playbooks.deltas(scope, limit=PAGE, before=before):
            for delta in page:
                if delta.user == tenant.user:
                    yield record("lesson", delta)
            before = page[-1].seq


async def _branches(container: Container, scope: PlaybookScope) -> list[PlaybookScope]:
    """The main branch and all others."""
    return [scope, *(branch.scope for branch in await container.playbooks.branches(scope))]


async def _learning_jobs(container: Container, tenant: Tenant) -> AsyncIterator[Record]:
    async with kept_jobs(container.settings, container.learning) as queue:
        offset = 0
        while queue and (page := await queue.list(tenant=tenant, limit=PAGE, offset=offset)):
            for job in page:
                yield record("learning_job", job)
            offset += len(page)


async def _files(container: Container, tenant: Tenant) -> AsyncIterator[Record]:
    """What ADK calls artifacts, with every version and what is noted about it."""
    async for file in container.files.export(tenant):
        yield {"kind": "file", "path": file.path, "value": _content(file)}


def _content(file: UserFile) -> dict[str, str]:
    try:
        return {"text": file.content.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(file.content).decode("ascii")}
