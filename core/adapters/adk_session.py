"""ADK sessions in SQLite, bounded: what a turn loads and stores does not grow with the history.

The differences to ADK's own service (google-adk 2.13):

- The Runner asks with `config=None` and gets the newest few events; the web UI leaves `config`
  out and gets them all. A turn of ours needs no history: its memory is the CCS.
- A turn that waits for a person is loaded whole, however long ago it was.
- What a rewind took back is not loaded for a turn: ADK would bring it back once the turn that the
  rewind names is out of the window.
- Old events may be deleted, or offloaded to long-term memory and then deleted.
- Clients cannot write our state: `PATCH`, `state_delta` of `/run` and the state of a new session
  lose the protected keys, with a warning in the log.
- A session that was written meanwhile is no error. Turns of a session run one at a time, state
  merges key by key in SQL, and the journal is the authority on `ccs`; ADK's check would throw an
  answer away that is already paid for.
- ADK's ids sort by time from the first look at a session on, so that the indexes over them grow at
  their end and a turn writes no more pages the longer the session is.
- An event without content whose state is all temporary is not stored: a stage that hands over to
  the next one leaves no row.
- One connection stays open, where ADK opens one (and a thread) for each call.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiosqlite
from google.adk.events import Event
from google.adk.sessions import BaseSessionService, Session
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.sqlite_session_service import (
    CREATE_SCHEMA_SQL,
    SqliteSessionService,
)

from core.adapters.bounded_sessions import (
    LEFT_OUT,
    NO_EVENTS,
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
from core.adapters.rewinding import rewound_events
from core.adapters.sqlite_base_state import SCHEMA as BASE_SCHEMA
from core.adapters.sqlite_base_state import keep_changes, read_base
from core.adapters.sqlite_event_rows import (
    SCHEMA,
    delete_rows,
    has_calls,
    read_old,
    read_window,
    write_answered,
    write_opened,
    write_rewound,
)
from core.adapters.sqlite_rewinds import SCHEMA as REWINDS_SCHEMA
from core.adapters.sqlite_rewinds import add_rewind, drop_rewinds, taken_back
from core.adapters.sqlite_scrub import BRIEFLY_S, PATIENTLY_S, scrub_connected, still_read
from core.adapters.sqlite_session_file import SessionFile
from core.adapters.storable import hold_live, make_storable, storable
from core.adapters.time_ordered_ids import use_time_ordered_ids
from schemas.state import PLAYBOOK
from schemas.tenancy import SessionKey

SESSIONS_FILE = "sessions.db"


class BoundedSessionService(SqliteSessionService, BoundedSessions):
    """ADK's session service for one file. Raises StoreError when it cannot be read or written."""

    def __init__(
        self,
        path: Path,
        *,
        recent_events: int = 0,
        retention: Retention | None = None,
        on_delete: Forget | None = None,
        wait_s: float = 60.0,
    ) -> None:
        """Give the Runner `recent_events` events; delete a session inside of `on_delete`.

        Turns that wait for a person come on top, whole. All events are kept without `retention`.
        A call waits at most `wait_s` seconds for those before it. Does no I/O.
        """
        super().__init__(str(path))
        self.path = path
        self._recent_events = recent_events
        self._retention = retention or Retention()
        self._on_delete = on_delete or only_here
        schema = CREATE_SCHEMA_SQL + SCHEMA + BASE_SCHEMA + REWINDS_SCHEMA
        self._file = SessionFile(path, schema, wait_s=wait_s)

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
        return await super().create_session(
            app_name=app_name,
            user_id=user_id,
            state=storable(protected(state, session_id or "new")),
            session_id=session_id,
        )

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
        session = await super().get_session(
            app_name=app_name,
            user_id=user_id,
            session_id=session_id,
            config=NO_EVENTS if config is None else config,
        )
        if session is None:
            return None
        key = _key(session)
        if config is None:
            async with self._get_db_connection() as connection:
                bodies = await read_window(connection, key, recent=self._recent_events)
            session.events = [Event.model_validate_json(body) for body in bodies]
        if config is not LEFT_OUT and session.events:
            taken = await self.taken_back(key, [event.id for event in session.events])
            session.events = [event for event in session.events if event.id not in taken]
        return session

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
                await self._project(session, projection, at=event.timestamp)
        if is_silent(event):
            # BaseSessionService keeps it in the running session only.
            return await BaseSessionService.append_event(self, session, event)
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        await self._store(session, event, past)
        session.last_update_time = event.timestamp
        stored = self._commit_event_to_session(session, event)
        hold_live(session, event, live)
        if begins_turn(event):
            await cut(self, _key(session), self._retention, begun=event)
        return stored

    async def old_events(
        self, key: SessionKey, *, turns: int, limit: int, spare: str = ""
    ) -> list[Event]:
        """Whole turns beyond the newest `turns` that nobody waits for, oldest first."""
        async with self._get_db_connection() as connection:
            bodies = await read_old(connection, key, turns=turns, limit=limit, spare=spare)
        return [Event.model_validate_json(body) for body in bodies]

    async def taken_back(self, key: SessionKey, events: Sequence[str]) -> set[str]:
        """Those of some events, by id, that a rewind took back."""
        async with self._get_db_connection() as connection:
            return await taken_back(connection, key, events)

    async def delete_events(self, key: SessionKey, events: Sequence[str]) -> None:
        """Delete events by id; those that are gone are no error."""
        async with self._get_db_connection() as connection:
            await keep_changes(connection, key, events)
            await delete_rows(connection, key, events)
            await drop_rewinds(connection, key)
            await connection.commit()

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session, and what the other stores keep of it, which may have to wait."""
        # ADK strips it too; what is held and forgotten must be what is deleted.
        key = SessionKey(app_name, user_id, session_id.strip())
        async with self._on_delete(key):
            await self.drop(key)

    async def drop(self, key: SessionKey) -> None:
        """Delete a session and nothing else; the caller holds it."""
        await super().delete_session(app_name=key.app, user_id=key.user, session_id=key.session)
        await scrub_connected(self._get_db_connection, self.path, wait_s=BRIEFLY_S)

    async def base_state(self, key: SessionKey) -> dict[str, Any]:
        """A session's own state before its oldest event; empty when nothing is known of it."""
        async with self._get_db_connection() as connection:
            return await read_base(connection, key)

    async def erase_shared(self, app_name: str, user_id: str) -> None:
        """Delete what the sessions of a user share, and the bytes of those that were dropped.

        Raises StoreError when another program reads the file for so long that the bytes stay.
        """
        async with self._get_db_connection() as connection:
            await connection.execute(
                "DELETE FROM user_states WHERE app_name = ? AND user_id = ?", (app_name, user_id)
            )
            await connection.commit()
        if not await scrub_connected(self._get_db_connection, self.path, wait_s=PATIENTLY_S):
            raise still_read(self.path)

    async def apps(self, user_id: str) -> set[str]:
        """The apps that a user has sessions or state of."""
        async with self._get_db_connection() as connection:
            rows = await connection.execute_fetchall(
                "SELECT app_name FROM sessions WHERE user_id = ? "
                "UNION SELECT app_name FROM user_states WHERE user_id = ?",
                (user_id, user_id),
            )
        return {row[0] for row in rows}

    async def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        await self._file.close()

    def _is_migration_needed(self) -> bool:
        # The file is ours and never had ADK's old schema; looking would be I/O at construction.
        return False

    async def _store(self, session: Session, event: Event, past: Sequence[Event]) -> None:
        """Store an event with what it changes about the calls that wait, all or nothing."""
        # The running session has the event only once it is stored; ADK's call gets another.
        apart = Session(
            app_name=session.app_name,
            user_id=session.user_id,
            id=session.id,
            last_update_time=float("inf"),
        )
        key, traffic, forgotten = _key(session), call_traffic(event), 0
        async with self._file.at_once() as connection:
            await super().append_event(apart, event)
            if traffic.opened:
                forgotten = await write_opened(connection, key, event.invocation_id, traffic)
            if (traffic.answered or traffic.ends_invocation) and await has_calls(connection, key):
                await write_answered(connection, key, event.invocation_id, traffic)
            if past:
                calls = await add_rewind(connection, key, event, past)
                forgotten += await write_rewound(connection, key, calls)
        log_forgotten_calls(key, forgotten)

    async def _project(self, session: Session, projection: object, *, at: float) -> None:
        """Write the playbook to the app's state, and nowhere else.

        The PlaybookStore is the authority and this is its projection, so the log of events need
        not hold a copy of the whole playbook for each turn.
        """
        if session.state.get(PLAYBOOK) == projection:
            return
        async with self._get_db_connection() as connection:
            await self._upsert_app_state(
                connection,
                session.app_name,
                {PLAYBOOK.removeprefix("app:"): projection},
                at,
            )
            await connection.commit()
        session.state[PLAYBOOK] = projection

    @asynccontextmanager
    async def _get_db_connection(self) -> AsyncIterator[aiosqlite.Connection]:
        # ADK's own calls come through here too.
        async with self._file.use() as connection:
            yield connection


def _key(session: Session) -> SessionKey:
    return SessionKey(session.app_name, session.user_id, session.id)
