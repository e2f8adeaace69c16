"""ADK's sessions in the database of the stores, whichever it is.

An event is stored whole, or it is partial. The differences from ADK's own services (google-adk
2.13) are listed in docs/deploy.md, *Where our sessions differ from ADK's*. Most are of bounded
apps, our own and those under the plugin, so that what a turn loads does not grow with the history:
the Runner asks with `config=None` and gets the newest few events, the last answer and, whole, the
invocations that wait for a person; the web UI leaves `config` out and gets all.

ADK's ids are time-ordered once a session has been read, so that the indexes over them grow at their
end and a turn writes no more pages the longer the session is. CCS_t and the playbook in
session.state are read through from their own stores: neither an event nor a state holds a copy.

A turn can be stored in one transaction with the rows of the other stores:

    buffer = sessions.hold(key, invocation_id)   # before ADK appends the user's message
    ...                                        # events reach the running session, and no database
    work.add(buffer.write(answer))               # the buffer, and the answer that ADK appends next
    await work.commit()
    buffer.written()                             # from here on the invocation's events are stored
    buffer.discard()                             # or instead: the turn failed, nothing is stored

Later events of a discarded turn are not stored either, such as those by which ADK seals an aborted
run. Writes from outside of the invocation (a rewind, a PATCH, a compaction) are always stored at
once.
"""

import inspect
import time
import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Self

from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.events import Event
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import GetSessionConfig, ListSessionsResponse

from acc_ace.adk.sessions.event_buffer import TurnBuffer, write_event, write_events
from acc_ace.adk.sessions.event_retention import Retention, cut
from acc_ace.adk.sessions.event_rows import (
    delete_events,
    events_of,
    read_all,
    read_newest,
    read_old,
    read_window,
    starts_turn,
)
from acc_ace.adk.sessions.json_safe import hold_live, json_form, make_storable
from acc_ace.adk.sessions.masked_event import masked_event
from acc_ace.adk.sessions.session_rows import (
    SessionRow,
    add_session,
    delete_session,
    delete_user_state,
    read_session,
    read_sessions,
    read_shared_state,
    read_time,
    read_user_state,
    session_id,
    use_time_ordered_ids,
    write_state,
)
from acc_ace.adk.sessions.session_services import StoredSessions
from acc_ace.adk.sessions.stored_state import (
    Projection,
    is_bare,
    keep_changes,
    lasting,
    own_state,
    protect,
    protected,
    shown_projection,
    take_projection,
    unshared,
)
from acc_ace.core.schemas.base import OWN_APP, SessionKey, Tenant
from acc_ace.core.schemas.state import PERSISTED, PLAYBOOK
from acc_ace.storage.sql_rows import Rows
from acc_ace.unit_of_work import Database

Forget = Callable[[SessionKey], Awaitable[None]]
"""Locks a session and deletes it from the stores, whose database has its events too."""

LEFT_OUT: Final = GetSessionConfig()
"""Default of `config`: distinguishes a caller that left it out from one that passed None."""

_ENDED_TURNS: Final = 256
"""Ended turns whose late events are still recognised."""


class SqlSessionService(StoredSessions):
    """ADK's session service over a Database. Raises StoreError when that cannot be used."""

    def __init__(
        self,
        database: Database,
        *,
        recent_events: int = 0,
        retention: Retention | None = None,
        on_delete: Forget | None = None,
        owns_database: bool = False,
        projection: Projection | None = None,
        has_tokens: bool = False,
        masks_secrets: bool = False,
    ) -> None:
        """Give a turn of a bounded app `recent_events` events; delete a session by `on_delete`.

        The last answer and invocations that wait for a person come on top, whole. All events are
        kept without `retention`. A database that it owns is closed with it. A session that is
        loaded shows our own keys by the `projection`. With tokens, clients write no state of all
        users. With `masks_secrets`, none stands in a stored text of a bounded app. Does no I/O.
        """
        self.database = database
        self._recent_events = recent_events
        self._bounded = {OWN_APP}
        self._retention = retention or Retention()
        self._on_delete = on_delete
        self._owns_database = owns_database
        self._projection, self._has_tokens = projection, has_tokens
        self._masks_secrets = masks_secrets
        self._turns: OrderedDict[tuple[SessionKey, str], TurnBuffer] = OrderedDict()

    def bound(self, app: str) -> None:
        """Note that the turns of an app have bounded memory; those of our own always have."""
        self._bounded.add(app)

    def hold(self, key: SessionKey, invocation_id: str) -> TurnBuffer:
        """Buffer what an invocation appends, until its turn is written or discarded.

        Its app is bounded from then on.
        """
        self.bound(key.app)
        ended = [name for name, turn in self._turns.items() if not turn.is_open]
        for name in ended[: max(0, len(ended) - _ENDED_TURNS)]:
            del self._turns[name]
        buffer = TurnBuffer(
            key,
            invocation_id,
            projected=self._projection_of(key.app),
            masks_secrets=self._masks_secrets,
        )
        self._turns[key, invocation_id] = buffer
        return buffer

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
        started = lasting(json_form(protected(state, key, has_tokens=self._has_tokens)))
        now = time.time()

        def work(rows: Rows) -> Session:
            row = add_session(rows, key, at=now, base_state=own_state(started))
            if row is None:
                raise AlreadyExistsError(f"Session with id {name} already exists.")
            write_state(rows, row, key.tenant, started)
            created = SessionRow(row, key, now, now, unshared(started))
            return _session(created, read_shared_state(rows, key.tenant))

        return await self._shown(await self.database.write(work))

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = LEFT_OUT,
    ) -> Session | None:
        """The session with all its events, or as `config` says.

        `config=None` is the same, unless ADK's Runner asks so for a turn of a bounded app: that
        gets the recent ones.
        """
        use_time_ordered_ids()
        key = SessionKey(app_name, user_id, session_id.strip())
        is_run = self._is_run(app_name, config)

        def work(rows: Rows) -> tuple[Session, list[str]] | None:
            row = read_session(rows, key)
            if row is None:
                return None
            session = _session(row, read_shared_state(rows, key.tenant))
            if is_run:
                return session, read_window(rows, row.id, recent=self._recent_events)
            return session, _bodies(rows, row.id, config or LEFT_OUT)

        loaded = await self.database.read(work)
        if loaded is None:
            return None
        session, bodies = loaded
        session.events = events_of(bodies)
        return await self._shown(session)

    async def updated_at(self, key: SessionKey) -> float | None:
        """When a session was changed last; None for one that does not exist."""
        return await self.database.read(lambda rows: read_time(rows, key))

    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        """The sessions of a user, or of all users of the app; without events."""

        def work(rows: Rows) -> list[Session]:
            shared: dict[Tenant, dict[str, Any]] = {}
            sessions: list[Session] = []
            for row in read_sessions(rows, app_name, user_id):
                if row.key.tenant not in shared:
                    shared[row.key.tenant] = read_shared_state(rows, row.key.tenant)
                sessions.append(_session(row, shared[row.key.tenant]))
            return sessions

        return ListSessionsResponse(sessions=await self.database.read(work))

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """The state shared by all sessions of a user; keys without their prefix."""
        return await self.database.read(
            lambda rows: read_user_state(rows, Tenant(app_name, user_id))
        )

    async def append_event(self, session: Session, event: Event) -> Event:
        """Append an event whole; what a client may not write is dropped from its state.

        Raises SessionNotFoundError, and StaleSessionError where the app is not bounded and the
        session was changed since it was loaded.
        """
        if event.partial:
            return event
        key = _key(session)
        live = make_storable(event)
        protect(event, key, has_tokens=self._has_tokens)
        projection = take_projection(event, self._projection_of(key.app))
        session.state.update(projection)
        if projection and is_bare(event):
            # Their own stores have all of it.
            return await super().append_event(session, event)
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        await self._store(key, event, loaded_at=session.last_update_time)
        session.last_update_time = event.timestamp
        appended = self._commit_event_to_session(session, event)
        if not event.actions.rewind_before_invocation_id:
            hold_live(session, event, live)
        if starts_turn(event):
            buffer = self._turns.get((key, event.invocation_id))
            is_stored = buffer is None or not buffer.is_open
            await cut(self, key, self._retention, started=event, is_stored=is_stored)
        return appended

    async def old_events(
        self, key: SessionKey, *, turns: int, limit: int, spare: str = ""
    ) -> list[Event]:
        """Whole invocations beyond the newest `turns` without waiting calls, oldest first.

        The newest are those stored last, not by a clock. Never the invocation `spare`. About
        `limit` events; a longer invocation comes whole.
        """

        def work(rows: Rows) -> list[str]:
            row = session_id(rows, key)
            if row is None:
                return []
            return read_old(rows, row, turns=turns, limit=limit, spare=spare)

        return events_of(await self.database.read(work))

    async def delete_events(self, key: SessionKey, events: Sequence[str]) -> None:
        """Delete events by id; missing ones are no error."""

        def work(rows: Rows) -> None:
            row = session_id(rows, key, locked=True)
            if row is not None:
                keep_changes(rows, row, events)
                delete_events(rows, row, events)

        await self.database.write(work)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session and its data in the other stores; may wait for a running turn."""
        key = SessionKey(app_name, user_id, session_id.strip())
        if self._on_delete is not None:
            await self._on_delete(key)
        if self._on_delete is None or self._owns_database:
            await self.drop(key)

    async def drop(self, key: SessionKey) -> None:
        """Delete a session and nothing else; the caller holds it."""
        await self.database.write(lambda rows: delete_session(rows, key))
        await self.database.scrub()

    async def erase_shared(self, tenant: Tenant) -> None:
        """Delete the state shared by a user's sessions, and wipe the bytes of dropped sessions.

        Raises StoreError when another program reads the file for too long.
        """
        await self.database.write(lambda rows: delete_user_state(rows, tenant))
        from acc_ace.storage.sqlite.database import SqliteDatabase  # noqa: PLC0415 - of SQLite

        if isinstance(self.database, SqliteDatabase):
            await self.database.wipe()

    async def close(self) -> None:
        """Close the database if this service owns it; the stores close theirs."""
        if self._owns_database:
            await self.database.close()

    async def __aenter__(self) -> Self:
        """This service, closed at the end of the block."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.close()

    def _is_run(self, app: str, config: GetSessionConfig | None) -> bool:
        """Whether a run of a bounded app asks, which needs few events."""
        # ADK's Runner asks for a run and for a rewind in the same words.
        return config is None and app in self._bounded and not _is_rewinding()

    def _projection_of(self, app: str) -> frozenset[str]:
        """Our keys that its sessions show from other stores; `ccs` of any other app is its own."""
        return PERSISTED if self._projection and app in self._bounded else frozenset({PLAYBOOK})

    async def _store(self, key: SessionKey, event: Event, *, loaded_at: float) -> None:
        """Store an event, unless its turn holds it back."""
        buffer = self._turns.get((key, event.invocation_id))
        is_bounded = key.app in self._bounded
        if self._masks_secrets and is_bounded and not (buffer and buffer.is_open):
            event = masked_event(event)  # What is held back is masked once it is written.
        if buffer is not None:
            if not buffer.keeps_back(event):
                await self.database.write(lambda rows: write_events(rows, key, [event]))
            return
        # Turns of a bounded app run one at a time, and the journal is the authority on their state.
        loaded = None if is_bounded else loaded_at
        await self.database.write(lambda rows: write_event(rows, key, event, loaded_at=loaded))

    async def _shown(self, session: Session) -> Session:
        """The session with our own keys in its state."""
        if self._projection is not None:
            session.state.update(await shown_projection(self._projection, _key(session)))
        return session


def _bodies(rows: Rows, session: int, config: GetSessionConfig) -> list[str]:
    limit, since = config.num_recent_events, config.after_timestamp
    if limit is None and since is None:
        return [row.body for row in read_all(rows, session)]
    return [] if limit == 0 else read_newest(rows, session, limit=limit, since=since)


def _is_rewinding() -> bool:
    """Whether `Runner.rewind_async` is among the callers, which needs all events."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name != "rewind_async":
        frame = frame.f_back
    return frame is not None


def _key(session: Session) -> SessionKey:
    return SessionKey(session.app_name, session.user_id, session.id)


def _session(row: SessionRow, shared: Mapping[str, Any]) -> Session:
    return Session(
        app_name=row.key.app,
        user_id=row.key.user,
        id=row.key.session,
        state={**row.state, **shared},
        events=[],
        last_update_time=row.updated_at,
    )
