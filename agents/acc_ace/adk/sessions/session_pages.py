"""ADK's sessions of a user page by page, so that an export of any size fits into memory."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from google.adk.sessions import BaseSessionService, InMemorySessionService

from acc_ace.adk.sessions.event_rows import EventRow, read_all
from acc_ace.adk.sessions.session_rows import apps_of, read_page, session_id
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.adk.sessions.stored_state import unshared
from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.storage.sql_rows import Rows, reading
from acc_ace.unit_of_work import Database


class StoredSession(NamedTuple):
    """A session as ADK's service stores it, without its events."""

    session: str
    created_at: float
    active_at: float
    state: dict[str, Any]


class StoredEvent(NamedTuple):
    """A stored event, and its place in the order of events."""

    place: int
    body: dict[str, Any]


class SessionPages(Protocol):
    """Reads what an ADK session service stores. Every method raises StoreError."""

    async def apps(self, user: str) -> set[str]:
        """The apps in which the user has sessions or state, as far as the service knows."""
        ...

    async def sessions(
        self, tenant: Tenant, *, limit: int, after: str | None
    ) -> Sequence[StoredSession]:
        """A page of sessions by name; `after` ended the previous page."""
        ...

    async def events(
        self, key: SessionKey, *, limit: int, after: int | None
    ) -> Sequence[StoredEvent]:
        """A page of events, oldest first; `after` is the place that ended the previous page."""
        ...


def session_pages(sessions: BaseSessionService) -> SessionPages:
    """The SessionPages of a session service."""
    if isinstance(sessions, SqlSessionService):
        return SqlSessionPages(sessions.database)
    return ServiceSessionPages(sessions)


class SqlSessionPages:
    """SessionPages of a SqlSessionService."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def apps(self, user: str) -> set[str]:
        """The apps of the database."""
        return await self._database.read(lambda rows: apps_of(rows, user))

    async def sessions(
        self, tenant: Tenant, *, limit: int, after: str | None
    ) -> Sequence[StoredSession]:
        """A page of sessions by name."""
        records = await self._database.read(
            lambda rows: read_page(rows, tenant, limit=limit, after=after or "")
        )
        return [
            StoredSession(row.key.session, row.created_at, row.updated_at, row.state)
            for row in records
        ]

    async def events(
        self, key: SessionKey, *, limit: int, after: int | None
    ) -> Sequence[StoredEvent]:
        """A page of events, oldest first."""

        def work(rows: Rows) -> list[EventRow]:
            session = session_id(rows, key)
            return [] if session is None else read_all(rows, session, after=after or 0, limit=limit)

        page = await self._database.read(work)
        with reading(f"an event of session {key.session!r}"):
            return [StoredEvent(row.seq, json.loads(row.body)) for row in page]


class ServiceSessionPages:
    """SessionPages of any ADK service, meant for one that has everything in memory."""

    def __init__(self, service: BaseSessionService) -> None:
        self._service = service

    async def apps(self, user: str) -> set[str]:
        """The apps of a service in memory; others cannot be asked without naming an app."""
        if not isinstance(self._service, InMemorySessionService):
            return set()
        stores = (self._service.sessions, self._service.user_state)
        return {app for users in stores for app, of_app in users.items() if of_app.get(user)}

    async def sessions(
        self, tenant: Tenant, *, limit: int, after: str | None
    ) -> Sequence[StoredSession]:
        """A page of sessions by name."""
        response = await self._service.list_sessions(app_name=tenant.app, user_id=tenant.user)
        later = [session for session in response.sessions if after is None or session.id > after]
        return [
            StoredSession(
                session.id,
                session.last_update_time,
                session.last_update_time,
                unshared(session.state),
            )
            for session in sorted(later, key=lambda session: session.id)[:limit]
        ]

    async def events(
        self, key: SessionKey, *, limit: int, after: int | None
    ) -> Sequence[StoredEvent]:
        """All events of a session, as one page."""
        if after is not None:
            return []
        session = await self._service.get_session(
            app_name=key.app, user_id=key.user, session_id=key.session
        )
        return [
            StoredEvent(at, event.model_dump(mode="json", exclude_none=True))
            for at, event in enumerate(session.events if session else ())
        ]
