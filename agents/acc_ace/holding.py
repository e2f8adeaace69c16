"""Hold the session of a turn; a turn that does not get it leaves nothing behind."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from google.adk.agents.invocation_context import InvocationContext

from acc_ace.context import session_key
from core.adapters.event_calls import begins_turn
from core.adapters.event_retention import OldEvents
from core.container import Container
from core.errors import StoreError

logger = logging.getLogger(__name__)


@asynccontextmanager
async def holding(container: Container, ctx: InvocationContext) -> AsyncIterator[None]:
    """Hold the session of a turn while the context is open.

    ADK stores the words of a turn before any agent is asked. When the session is not had, because
    it is busy for too long or the caller gives up, they are taken back: sent again, they would
    stand there twice. Raises SessionBusyError or StoreError.
    """
    key = session_key(ctx)
    async with AsyncExitStack() as stack:
        try:
            wait_s = container.settings.limits.turn_wait_s
            await stack.enter_async_context(container.lock.hold(key, wait_s=wait_s))
        except BaseException:
            await asyncio.shield(_take_back(ctx))
            raise
        yield


async def _take_back(ctx: InvocationContext) -> None:
    """Delete what the user just said, where the session service can, and no more than that."""
    events = [event for event in ctx.session.events if event.invocation_id == ctx.invocation_id]
    # An answer to a call that waits stays, and so do the words that a resumed turn began with.
    if len(events) != 1 or not begins_turn(events[0]):
        return
    if not isinstance(ctx.session_service, OldEvents):
        return
    try:
        await ctx.session_service.delete_events(session_key(ctx), [events[0].id])
    except StoreError:
        # The error that refused the turn is what the caller must see; this one is logged.
        logger.exception("words_not_taken_back session=%s", ctx.session.id)
