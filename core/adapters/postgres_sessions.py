"""ADK sessions in PostgreSQL, bounded: what a turn loads does not grow with the history.

It keeps the promises of `BoundedSessionService` for any number of server processes: the Runner
gets the newest few events and the turns that wait for a person, old events are kept or cut as
the settings say, clients cannot write our state, a session that was written meanwhile is no
error, and an event of which nothing would outlive the turn is not stored. State is kept key by
key, so that writers of different keys never undo one another.
"""

import json
import time
import uuid
from collections.abc import Sequence
from typing import Any

from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event
from google.adk.sessions import BaseSessionService, Session, State
from google.adk.sessions.base_session_service import GetSessionConfig, ListSessionsResponse

from core.adapters.bounded_sessions import (
    LEFT_OUT,
    BoundedSessions,
    Forget,
    is_silent,
    left_to_the_next_turn,
    log_forgotten_calls,
    only_here,
    protected,
)
from core.adapters.client_state import is_from_client
from core.adapters.event_calls import begins_turn, call_traffic
from core.adapters.event_retention import Retention, cut
from core.adapters.postgres_base_state import keep_changes, read_base, write_base
from core.adapters.postgres_database import PostgresDatabase
from core.adapters.postgres_event_rows import (
    NewEvent,
    StoredEvent,
    delete_rows,
    read_events,
    read_old,
    read_window,
    write_calls,
    write_event,
    write_rewound,
)
from core.adapters.postgres_rewinds import add_rewind, drop_rewinds, taken_back
from core.adapters.postgres_schema import Connection
from core.adapters.postgres_session_rows import (
    delete_session,
    delete_user_state,
    read_sessions,
    read_user_state,
    write_session,
    write_shared_state,
)
from core.adapters.postgres_state_delta import state_delta, write_delta
from core.adapters.rewinding import rewound_events
from core.adapters.storable import hold_live, make_storable, storable
from core.adapters.time_ordered_ids import use_time_ordered_ids
from schemas.state import PLAYBOOK
from schemas.tenancy import SessionKey, Tenant


class PostgresSessionService(BoundedSessions):
    """ADK's sessions in a PostgresDatabase. Raises StoreError when it cannot be used."""

    beside_the_stores = True

    def __init__(
        self,
        database: PostgresDatabase,
        *,
        recent_events: int = 0,
        retention: Retention | None = None,
        on_delete: Forget | None = None,
    ) -> None:
        """Give the Runner `recent_events` events; delete a session inside of `on_delete`.

        Turns that wait for a person come on top, whole. All events are kept without `retention`.
        Does no I/O.
        """
        self._database = database
        self._recent_events = recent_events
        self._retention = retention or Retention()
        self._on_delete = on_delete or only_here

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Create a session; protected keys of `state` are dropped."""
        use_time_ordered_ids()
        name = (session_id or "").strip() or str(uuid.uuid4())
        key = SessionKey(app_name, user_id, name)
        delta = state_delta(storable(protected(state, name) or {}))
        now = time.time()

        def work(connection: Connection) -> dict[str, Any]:
            if not write_session(connection, key, now):
                raise AlreadyExistsError(f"Session with id {name} already exists.")
            write_delta(connection, key, delta)
            write_base(connection, key, delta.session)
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
        """The session: its recent events for `config=None`, all where `config` is left out.

        What rewinds took back is there only where it is left out.
        """
        use_time_ordered_ids()
        key = SessionKey(app_name, user_id, session_id.strip())

        def work(connection: Connection) -> tuple[list[Any], list[StoredEvent]]:
            found = read_sessions(connection, key.tenant, key.session)
            if not found or (config is not None and config.num_recent_events == 0):
                return found, []
            return found, self._loaded(connection, key, config)

        found, events = await self._database.read(work)
        if not found:
            return None
        loaded = _session(key, found[0].state, found[0].updated_at)
        loaded.events = [Event.model_validate_json(event.body) for event in events]
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
        """Delete a session, and what the other stores keep of it, which may have to wait."""
        key = SessionKey(app_name, user_id, session_id.strip())
        async with self._on_delete(key):
            await self.drop(key)

    async def drop(self, key: SessionKey) -> None:
        """Delete a session and nothing else; the caller holds it."""
        await self._database.write(lambda connection: delete_session(connection, key))

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """What all sessions of a user share; keys without their prefix."""
        return await self._database.read(
            lambda connection: read_user_state(connection, Tenant(app_name, user_id))
        )

    async def append_event(self, session: Session, event: Event) -> Event:
        """Append an event; what a client may not write is dropped from it."""
        if event.partial:
            return event
        live = make_storable(event)
        past = await rewound_events(self, session, event)
        if is_from_client(event):
            event.actions.state_delta = protected(event.actions.state_delta, session.id) or {}
        elif PLAYBOOK in event.actions.state_delta:
            projection = event.actions.state_delta.pop(PLAYBOOK)
            with left_to_the_next_turn(_key(session)):
                await self._project(session, projection)
        if not is_silent(event):
            # Steps between stages reach the running session, and are not stored.
            self._apply_temp_state(session, event)
            event = self._trim_temp_delta_state(event)
            await self._store(session, event, past)
            session.last_update_time = event.timestamp
            stored = self._commit_event_to_session(session, event)
            hold_live(session, event, live)
            if begins_turn(event):
                await cut(self, _key(session), self._retention, begun=event)
            return stored
        return await BaseSessionService.append_event(self, session, event)

    async def old_events(
        self, key: SessionKey, *, turns: int, limit: int, spare: str = ""
    ) -> list[Event]:
        """Whole turns beyond the newest `turns` that nobody waits for, oldest first."""
        bodies = await self._database.read(
            lambda connection: read_old(connection, key, turns=turns, limit=limit, spare=spare)
        )
        return [Event.model_validate_json(body) for body in bodies]

    async def taken_back(self, key: SessionKey, events: Sequence[str]) -> set[str]:
        """Those of some events, by id, that a rewind took back."""
        return await self._database.read(lambda connection: taken_back(connection, key, events))

    async def delete_events(self, key: SessionKey, events: Sequence[str]) -> None:
        """Delete events by id; those that are gone are no error."""

        def work(connection: Connection) -> None:
            keep_changes(connection, key, events)
            delete_rows(connection, key, events)
            drop_rewinds(connection, key)

        await self._database.write(work)

    async def base_state(self, key: SessionKey) -> dict[str, Any]:
        """A session's own state before its oldest event; empty when nothing is known of it."""
        return await self._database.read(lambda connection: read_base(connection, key))

    async def erase_shared(self, app_name: str, user_id: str) -> None:
        """Delete what the sessions of a user share."""
        tenant = Tenant(app_name, user_id)
        await self._database.write(lambda connection: delete_user_state(connection, tenant))

    async def close(self) -> None:
        """Nothing to do: the connections belong to the stores, which close them."""

    def _loaded(
        self, connection: Connection, key: SessionKey, config: GetSessionConfig | None
    ) -> list[StoredEvent]:
        if config is None:
            found = read_window(connection, key, recent=self._recent_events)
        else:
            limit, since = config.num_recent_events, config.after_timestamp
            found = read_events(connection, key, limit=limit, since=since)
        if config is LEFT_OUT or not found:
            return found
        taken = taken_back(connection, key, [event.event_id for event in found])
        return [event for event in found if event.event_id not in taken]

    async def _store(self, session: Session, event: Event, past: Sequence[Event]) -> None:
        key = _key(session)
        delta, traffic = state_delta(event.actions.state_delta), call_traffic(event)
        row = NewEvent(
            event.id,
            event.invocation_id,
            event.timestamp,
            event.model_dump_json(exclude_none=True),
        )

        def work(connection: Connection) -> int:
            if not write_event(connection, key, row):
                raise SessionNotFoundError(f"Session {session.id} not found.")
            write_delta(connection, key, delta)
            forgotten = write_calls(connection, key, event.invocation_id, traffic)
            if past:
                calls = add_rewind(connection, key, event, past)
                forgotten += write_rewound(connection, key, calls)
            return forgotten

        log_forgotten_calls(key, await self._database.write(work))

    async def _project(self, session: Session, projection: object) -> None:
        """Write the playbook to the app's state, and nowhere else.

        The PlaybookStore is the authority and this is its projection, so the log of events need
        not hold a copy of the whole playbook for each turn.
        """
        if session.state.get(PLAYBOOK) == projection:
            return
        values = {PLAYBOOK.removeprefix(State.APP_PREFIX): json.dumps(projection)}
        await self._database.write(
            lambda connection: write_shared_state(connection, session.app_name, None, values)
        )
        session.state[PLAYBOOK] = projection


def _key(session: Session) -> SessionKey:
    return SessionKey(session.app_name, session.user_id, session.id)


def _session(key: SessionKey, state: dict[str, Any], updated_at: float) -> Session:
    return Session(
        app_name=key.app,
        user_id=key.user,
        id=key.session,
        state=state,
        events=[],
        last_update_time=updated_at,
    )
