"""ADK sessions in PostgreSQL, bounded: what a turn loads does not grow with the history.

It keeps the promises of `BoundedSessionService` for any number of server processes: the Runner
gets the newest few events, clients cannot write our state, a session that was written meanwhile
is no error, and an event of which nothing would outlive the turn is not stored. State is kept key
by key, so that writers of different keys never undo one another.
"""

import json
import time
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event
from google.adk.sessions import BaseSessionService, Session, State
from google.adk.sessions._session_util import extract_json_safe_state_delta
from google.adk.sessions.base_session_service import GetSessionConfig, ListSessionsResponse

from core.adapters.bounded_sessions import (
    LEFT_OUT,
    BoundedSessions,
    Forget,
    is_silent,
    protected,
)
from core.adapters.client_state import is_from_client
from core.adapters.postgres_database import PostgresDatabase
from core.adapters.postgres_schema import Connection
from core.adapters.postgres_session_rows import (
    NewEvent,
    delete_sessions,
    read_events,
    read_sessions,
    read_user_state,
    write_event,
    write_session,
    write_shared_state,
    write_state,
)
from schemas.state import PLAYBOOK
from schemas.tenancy import SessionKey, Tenant


class _Delta(NamedTuple):
    """A change of state, by whom it belongs to; keys without their prefix."""

    app: Mapping[str, Any]
    user: Mapping[str, Any]
    session: Mapping[str, Any]


class PostgresSessionService(BoundedSessions):
    """ADK's sessions in a PostgresDatabase. Raises StoreError when it cannot be used."""

    def __init__(
        self,
        database: PostgresDatabase,
        *,
        recent_events: int = 0,
        on_delete: Forget | None = None,
    ) -> None:
        """Give the Runner `recent_events` events; call `on_delete` when a session is deleted.

        Does no I/O. An app that pauses for human input needs about 50 recent events.
        """
        self._database = database
        self._runner_config = GetSessionConfig(num_recent_events=recent_events)
        self._on_delete = on_delete

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Create a session; protected keys of `state` are dropped."""
        name = (session_id or "").strip() or str(uuid.uuid4())
        key = SessionKey(app_name, user_id, name)
        delta = _delta(protected(state, name) or {})
        now = time.time()

        def work(connection: Connection) -> dict[str, Any]:
            if not write_session(connection, key, now):
                raise AlreadyExistsError(f"Session with id {name} already exists.")
            _write_delta(connection, key, delta)
            return read_sessions(connection, key.tenant, name)[0].state

        state_now = await self._database.write(work)
        return _session(key, state_now, now)

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = LEFT_OUT,
    ) -> Session | None:
        """The session: its recent events for `config=None`, all where `config` is left out."""
        key = SessionKey(app_name, user_id, session_id.strip())
        wanted = self._runner_config if config is None else config

        def work(connection: Connection) -> tuple[list[Any], list[str]]:
            found = read_sessions(connection, key.tenant, key.session)
            if not found or wanted.num_recent_events == 0:
                return found, []
            return found, read_events(
                connection,
                key,
                limit=wanted.num_recent_events,
                since=wanted.after_timestamp,
            )

        found, events = await self._database.read(work)
        if not found:
            return None
        loaded = _session(key, found[0].state, found[0].updated_at)
        loaded.events = [Event.model_validate_json(body) for body in events]
        return loaded

    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        """The sessions of a user, or of all users of the app; without events."""

        def work(connection: Connection) -> list[Any]:
            return read_sessions(connection, Tenant(app_name, user_id or ""), None, user_id is None)

        rows = await self._database.read(work)
        return ListSessionsResponse(
            sessions=[
                _session(SessionKey(app_name, row.user, row.session), row.state, row.updated_at)
                for row in rows
            ]
        )

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session, and what the other stores keep of it."""
        key = SessionKey(app_name, user_id, session_id.strip())
        await self._database.write(
            lambda connection: delete_sessions(connection, key.tenant, key.session)
        )
        if self._on_delete is not None:
            await self._on_delete(key)

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """What all sessions of a user share; keys without their prefix."""
        return await self._database.read(
            lambda connection: read_user_state(connection, Tenant(app_name, user_id))
        )

    async def append_event(self, session: Session, event: Event) -> Event:
        """Append an event; what a client may not write is dropped from it."""
        if event.partial:
            return event
        if is_from_client(event):
            event.actions.state_delta = protected(event.actions.state_delta, session.id) or {}
        elif PLAYBOOK in event.actions.state_delta:
            await self._project(session, event)
        if not is_silent(event):
            # Steps between stages reach the running session, and are not stored.
            self._apply_temp_state(session, event)
            event = self._trim_temp_delta_state(event)
            await self._store(session, event)
            session.last_update_time = event.timestamp
            return self._commit_event_to_session(session, event)
        return await BaseSessionService.append_event(self, session, event)

    async def erase(self, app_name: str, user_id: str) -> int:
        """Delete all sessions of a user, state included; how many."""
        tenant = Tenant(app_name, user_id)
        return await self._database.write(
            lambda connection: delete_sessions(connection, tenant, None)
        )

    async def close(self) -> None:
        """Nothing to do: the connections belong to the stores, which close them."""

    async def _store(self, session: Session, event: Event) -> None:
        key = SessionKey(session.app_name, session.user_id, session.id)
        delta = _delta(event.actions.state_delta)
        row = NewEvent(event.id, event.timestamp, event.model_dump_json(exclude_none=True))

        def work(connection: Connection) -> None:
            if not write_event(connection, key, row):
                raise SessionNotFoundError(f"Session {session.id} not found.")
            _write_delta(connection, key, delta)

        await self._database.write(work)

    async def _project(self, session: Session, event: Event) -> None:
        """Write the playbook to the app's state, and keep it out of the stored event.

        The PlaybookStore is the authority and this is its projection, so the log of events need
        not hold a copy of the whole playbook for each turn.
        """
        projection = event.actions.state_delta.pop(PLAYBOOK)
        if session.state.get(PLAYBOOK) == projection:
            return
        values = {PLAYBOOK.removeprefix(State.APP_PREFIX): json.dumps(projection)}
        await self._database.write(
            lambda connection: write_shared_state(connection, session.app_name, None, values)
        )
        session.state[PLAYBOOK] = projection


def _delta(state: dict[str, Any]) -> _Delta:
    parts = extract_json_safe_state_delta(state)
    return _Delta(parts["app"], parts["user"], parts["session"])


def _write_delta(connection: Connection, key: SessionKey, delta: _Delta) -> None:
    write_state(connection, key, _encoded(delta.session))
    write_shared_state(connection, key.app, key.user, _encoded(delta.user))
    write_shared_state(connection, key.app, None, _encoded(delta.app))


def _encoded(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: json.dumps(value) for name, value in values.items()}


def _session(key: SessionKey, state: dict[str, Any], updated_at: float) -> Session:
    return Session(
        app_name=key.app,
        user_id=key.user,
        id=key.session,
        state=state,
        events=[],
        last_update_time=updated_at,
    )
