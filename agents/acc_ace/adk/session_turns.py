"""Hold the session lock of a run from before ADK stores its message until the run is over.

ADK loads the session before any hook is called, so it is reloaded in place under the lock: the run
sees the events of the previous holder, and no call is answered twice.
"""

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from google.adk.agents.invocation_context import InvocationContext
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.sessions import BaseSessionService, Session
from google.adk.sessions.base_session_service import GetSessionConfig

from acc_ace.adk.sessions.session_services import NO_EVENTS, StoredSessions
from acc_ace.adk.turn_report import TurnRepeated, turn_report
from acc_ace.adk.user_content import session_key
from acc_ace.container import Container
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.report import TurnDone
from acc_ace.errors import ConflictError
from acc_ace.turn.lifecycle import TurnLifecycle
from acc_ace.turn.observer import Listener
from acc_ace.turn.ports import EventBuffer
from acc_ace.turn.turn_record import TurnRecord, TurnRecords


async def ensure_session(sessions: BaseSessionService, key: SessionKey) -> None:
    """Create a session unless it exists."""
    if await _updated_at(sessions, key) is not None:
        return
    try:
        await sessions.create_session(app_name=key.app, user_id=key.user, session_id=key.session)
    except AlreadyExistsError:
        return  # Another turn created it in the meantime.


def session_deleted_error(key: SessionKey) -> ConflictError:
    """The error of a turn whose session was deleted before its answer."""
    return ConflictError(
        f"session '{key.session}' was deleted while its turn waited or ran; the turn is "
        "discarded; send it again to start a new session"
    )


class SessionLease:
    """The session of one run, with its lock."""

    def __init__(self, session: Session, hold: AsyncExitStack, events: EventBuffer | None) -> None:
        self.session = session
        """Referenced, so that its `id()` is not reused."""
        self.events = events
        self.is_started = False
        """Whether the run's agent has started: from then on its end releases the session."""
        self.hold = hold

    async def release(self) -> None:
        """Release the session; events of a turn that was not committed are dropped."""
        if self.events is not None and self.events.is_open:
            self.events.discard()
        await self.hold.aclose()


class SessionTurns:
    """The turns that the runs of one app take in this process, each holding its session."""

    def __init__(self, container: Container, records: TurnRecords | None = None) -> None:
        self.records = records or TurnRecords()
        """What callers ask of the turns that they run, and the records of those that run."""
        self.lifecycle = TurnLifecycle(container)
        self._container = container
        self._leases: dict[int, SessionLease] = {}
        # Tasks that release sessions: the loop itself holds tasks weakly.
        self._releasing: set[asyncio.Task[None]] = set()

    async def take(self, ctx: InvocationContext) -> SessionLease:
        """Hold the session of a run; reentrant for the same run.

        Raises TurnRepeated for a turn that was committed before, SpendingCeilingError for a user
        who has spent the day's ceiling, SessionBusyError, ConflictError when the session was
        deleted meanwhile, or StoreError.
        """
        if (lease := self._leases.get(id(ctx.session))) is not None:
            return lease
        key = session_key(ctx)
        if isinstance(ctx.session_service, StoredSessions):
            ctx.session_service.bound(key.app)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.lifecycle.hold(key))
            await _reload(ctx, key)
            request = self.records.requested(key)
            earlier = await self.lifecycle.repeated(key, request.idempotency_key, request.input)
            if earlier is not None:
                raise TurnRepeated(earlier)
            await self._container.spending.require_room(key.tenant)
            lease = SessionLease(ctx.session, stack.pop_all(), self._buffer_events(ctx, key))
        self._leases[id(ctx.session)] = lease
        self._watch(lease)
        return lease

    async def begin(
        self,
        ctx: InvocationContext,
        *,
        listener: Listener | None = None,
        marks_playbook: bool = False,
    ) -> TurnRecord:
        """The record of the turn that a run takes; it counts as load until `end`.

        What happens is told to the caller's listener and to `listener`. Raises as `take` does.
        """
        lease, key = await self.take(ctx), session_key(ctx)
        lease.is_started = True
        lease.hold.enter_context(self._container.pressure.turn())
        return self.records.begin(
            key,
            ctx.invocation_id,
            buffer=lease.events,
            listener=listener,
            marks_playbook=marks_playbook,
        )

    async def end(self, ctx: InvocationContext, record: TurnRecord) -> None:
        """Release the session of a turn; one that was not committed has failed."""
        self.records.end(record.key)
        try:
            await self.lifecycle.fail(record)
        finally:
            await self.release(ctx)

    def report(self, record: TurnRecord) -> None:
        """Tell the listener of an answered turn what it was."""
        limits, spending = self._container.settings.limits, self._container.spending
        record.observer.emit(TurnDone(report=turn_report(record, limits, spending)))

    async def release(self, ctx: InvocationContext, *, keep: bool = False) -> None:
        """Release the session of a run, once; with `keep` the buffered events are stored."""
        lease = self._leases.pop(id(ctx.session), None)
        if lease is None:
            return
        try:
            if keep and lease.events is not None and lease.events.is_open:
                await self.lifecycle.keep_events(lease.events)
        finally:
            # A second cancellation of the caller does not stop the release.
            await asyncio.shield(self._begin_release(lease))

    def _buffer_events(self, ctx: InvocationContext, key: SessionKey) -> EventBuffer | None:
        """Buffer the events of the run, if sessions are in the database of the stores."""
        sessions, database = ctx.session_service, self._container.database
        if isinstance(sessions, StoredSessions) and sessions.database is database:
            return sessions.hold(key, ctx.invocation_id)
        return None

    def _watch(self, lease: SessionLease) -> None:
        """Release the session when its task ends before the agent has started.

        ADK calls no hook when it cannot store the message.
        """
        task = asyncio.current_task()
        if task is not None:
            task.add_done_callback(partial(self._release_unstarted, lease))

    def _release_unstarted(self, lease: SessionLease, _: "asyncio.Task[Any]") -> None:
        if lease.is_started or self._leases.pop(id(lease.session), None) is None:
            return
        self._begin_release(lease)

    def _begin_release(self, lease: SessionLease) -> "asyncio.Task[None]":
        releasing = asyncio.get_running_loop().create_task(lease.release())
        self._releasing.add(releasing)
        releasing.add_done_callback(self._releasing.discard)
        return releasing


async def _reload(ctx: InvocationContext, key: SessionKey) -> None:
    """Reload the run's session in place. Raises ConflictError when it was deleted."""
    updated_at = await _updated_at(ctx.session_service, key)
    if updated_at is None:
        raise session_deleted_error(key)
    if updated_at == ctx.session.last_update_time:
        return
    config = ctx.run_config.get_session_config if ctx.run_config else None
    fresh = await _load(ctx.session_service, key, config)
    if fresh is None:
        raise session_deleted_error(key)
    ctx.session.events[:] = fresh.events
    ctx.session.state.clear()
    ctx.session.state.update(fresh.state)
    ctx.session.last_update_time = fresh.last_update_time
    for name, value in (fresh.__pydantic_private__ or {}).items():
        # The mark by which ADK's database service detects a stale session.
        setattr(ctx.session, name, value)


async def _load(
    sessions: BaseSessionService, key: SessionKey, config: GetSessionConfig | None
) -> Session | None:
    return await sessions.get_session(
        app_name=key.app, user_id=key.user, session_id=key.session, config=config
    )


async def _updated_at(sessions: BaseSessionService, key: SessionKey) -> float | None:
    """When a session was changed last; None for one that does not exist."""
    if isinstance(sessions, StoredSessions):
        return await sessions.updated_at(key)
    session = await _load(sessions, key, NO_EVENTS)
    return session.last_update_time if session is not None else None
