"""Export a user's sessions, from the stores and from ADK's session service."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any, Final

from google.adk.sessions import BaseSessionService

from acc_ace.adk.sessions.session_pages import SessionPages, session_pages
from acc_ace.container import Container
from acc_ace.core.schemas.base import SessionKey, Tenant, Value
from acc_ace.core.schemas.cost import NEWEST
from acc_ace.core.schemas.session import SessionRecord
from acc_ace.errors import CorruptStoreError

Record = dict[str, Any]
"""JSON-safe, with its `kind`."""

PAGE: Final = 100


def record(kind: str, value: Value, **more: str) -> Record:
    """A value as a record of an export."""
    return {"kind": kind, **more, "value": value.model_dump(mode="json")}


async def export_sessions(
    container: Container, sessions: BaseSessionService, tenant: Tenant
) -> AsyncIterator[Record]:
    """Shared state, then each session with its states and turns, then ADK's with their events.

    A session with an unreadable record is reported as `missing` instead. Only names of sessions
    are kept in memory. Raises StoreError.
    """
    shared = await sessions.get_user_state(app_name=tenant.app, user_id=tenant.user)
    if shared:
        yield {"kind": "user_state", "value": shared}
    known: set[str] = set()
    async for name, named in _known(container, tenant):
        known.add(name)
        yield named
        async for item in _of_stores(container, SessionKey(*tenant, name)):
            yield item
    pages = session_pages(sessions)
    after: str | None = None
    while page := await pages.sessions(tenant, limit=PAGE, after=after):
        for stored in page:
            if stored.session not in known:
                session = SessionRecord(
                    session=stored.session,
                    created_at=datetime.fromtimestamp(stored.created_at, UTC),
                    active_at=datetime.fromtimestamp(stored.active_at, UTC),
                )
                yield record("session", session)
                async for item in _of_stores(container, SessionKey(*tenant, stored.session)):
                    yield item
            if stored.state:
                yield {"kind": "session_state", "session": stored.session, "value": stored.state}
            async for item in _events(pages, SessionKey(*tenant, stored.session)):
                yield item
        after = page[-1].session


async def _known(container: Container, tenant: Tenant) -> AsyncIterator[tuple[str, Record]]:
    """Sessions of the directory, and those of the journal that are older than the directory."""
    known: set[str] = set()
    before: str | None = None
    while page := await container.directory.list(tenant, limit=PAGE, before=before):
        for session in page:
            known.add(session.session)
            yield session.session, record("session", session)
        before = page[-1].session
    for name in sorted(await container.directory.names(tenant)):
        # Only a session that the pages skipped, or that has started since.
        if name not in known and (item := await _unlisted(container, SessionKey(*tenant, name))):
            known.add(name)
            yield name, item
    before = None
    while rows := await container.journal.sessions(tenant, limit=PAGE, before=before):
        for name, head in rows:
            if name not in known:
                session = SessionRecord(
                    session=name, created_at=head.created_at, active_at=head.created_at
                )
                yield name, record("session", session)
        before = rows[-1][0]


async def _unlisted(container: Container, key: SessionKey) -> Record | None:
    """A session that the directory names but does not list; None if it was deleted."""
    try:
        session = await container.directory.find(key)
    except CorruptStoreError as error:
        return {
            "kind": "missing",
            "what": "session_record",
            "session": key.session,
            "reason": str(error),
        }
    return record("session", session) if session else None


async def _of_stores(container: Container, key: SessionKey) -> AsyncIterator[Record]:
    version: int | None = None
    while states := await container.journal.history(key, limit=PAGE, before_version=version):
        for entry in states:
            yield record("state", entry, session=key.session)
        version = states[-1].state.version
    turn: str | None = None
    while turns := await container.evidence.list(key, limit=PAGE, before=turn):
        for interaction in turns:
            yield record("turn", interaction, session=key.session)
        turn = turns[-1].invocation_id
    for number in await container.traces.turns(key):
        for trace in await container.traces.of_turn(key, number):
            yield record("requests", trace, session=key.session)
    before = NEWEST
    while uses := await container.spending.store.uses(key, turns=PAGE, before=before):
        for used in uses:
            yield record("model_use", used, session=key.session)
        before = uses[-1].turn


async def _events(pages: SessionPages, key: SessionKey) -> AsyncIterator[Record]:
    after: int | None = None
    while page := await pages.events(key, limit=PAGE, after=after):
        for event in page:
            yield {"kind": "event", "session": key.session, "value": event.body}
        after = page[-1].place
