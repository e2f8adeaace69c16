"""Hold the session lock of a run from before ADK stores its message until the run is over.

ADK loads the session before any hook is called, so it is reloaded in place under the lock: the run
sees the events of the previous holder, and no call is answered twice.
"""

import asyncio
import logging
from contextlib import AsyncExitStack

from google.adk.agents.invocation_context import InvocationContext
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.sessions import BaseSessionService, Session
from google.adk.sessions.base_session_service import GetSessionConfig

from acc_ace.adk.sessions.session_services import NO_EVENTS, StoredSessions
from acc_ace.adk.user_content import session_key
from acc_ace.core.schemas.base import SessionKey
from acc_ace.errors import ConflictError
from acc_ace.turn.lifecycle import TurnLifecycle
from acc_ace.turn.ports import EventBuffer


async def ensure_session(sessions: BaseSessionService, key: SessionKey) -> None:
    """Create a session unless it exists."""
    if await _load(sessions, key, NO_EVENTS) is not None:
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


logger = logging.getLogger(__name__)


class SessionLease:
    """The session of one run, with its lock."""

    def __init__(self, session: Session, hold: AsyncExitStack, events: EventBuffer | None) -> None:
        self.session = session
        """Referenced, so that its `id()` is not reused."""
        self.events = events
        self.is_started = False
        """Whether the run's agent has started: from then on its end releases the session."""
        self._hold = hold

    async def release(self) -> None:
        """Release the session; events of a turn that was not committed are dropped."""
        if self.events is not None and self.events.is_open:
            self.events.discard()
        await self._hold.aclose()


class SessionTurns:
    """The sessions that the runs of one app hold in this process."""

    def __init__(self, lifecycle: TurnLifecycle) -> None:
        self._lifecycle = lifecycle
        self._leases: dict[int, SessionLease] = {}
        # Tasks that release sessions: the loop itself holds tasks weakly.
        self._releasing: set[asyncio.Task[None]] = set()

    def find(self, ctx: InvocationContext) -> SessionLease | None:
        """The leased session of a run, or None."""
        return self._leases.get(id(ctx.session))

    async def take(self, ctx: InvocationContext) -> SessionLease:
        """Hold the session of a run; reentrant for the same run.

        Raises SessionBusyError, ConflictError when it was deleted meanwhile, or StoreError.
        """
        if (known := self.find(ctx)) is not None:
            return known
        key = session_key(ctx)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._lifecycle.hold(key))
            await _reload(ctx, key)
            events = self._buffer_events(ctx, key)
            lease = SessionLease(ctx.session, stack.pop_all(), events)
        self._leases[id(ctx.session)] = lease
        self._watch(lease)
        return lease

    async def release(self, ctx: InvocationContext, *, keep: bool = False) -> None:
        """Release the session of a run, once; with `keep` the buffered events are stored."""
        lease = self._leases.pop(id(ctx.session), None)
        if lease is None:
            return
        try:
            if keep and lease.events is not None and lease.events.is_open:
                await self._lifecycle.keep_events(lease.events)
        finally:
            # A second cancellation of the caller does not stop the release.
            await asyncio.shield(self._begin_release(lease))

    def _buffer_events(self, ctx: InvocationContext, key: SessionKey) -> EventBuffer | None:
        """Buffer the events of the run, if sessions are in the database of the stores."""
        sessions = ctx.session_service
        if isinstance(sessions, StoredSessions) and self._lifecycle.is_over(sessions.database):
            return sessions.hold(key, ctx.invocation_id)
        return None

    def _watch(self, lease: SessionLease) -> None:
        """Release the session when its task ends before the agent has started.

        ADK calls no hook when it cannot store the message.
        """
        task = asyncio.current_task()
        if task is not None:
            task.add_done_callback(lambda _: self._release_unstarted(lease))

    def _release_unstarted(self, lease: SessionLease) -> None:
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
    session = await _load(ctx.session_service, key, NO_EVENTS)
    if session is None:
        raise session_deleted_error(key)
    if session.last_update_time == ctx.session.last_update_time:
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
