"""Base of every stage around the Generator: work on the turn, and at most one state event.

A stage that emitted content would become the anchor of the next stage's view of the session, and
would show in the chat; so a stage can only return state.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable

from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from pydantic import PrivateAttr

from acc_ace.adk.user_content import session_key, state_event
from acc_ace.core.schemas import state as keys
from acc_ace.turn.turn_record import TurnRecord, TurnRecords

logger = logging.getLogger(__name__)

State = dict[str, object]
"""Keys of session.state to persist, with their values."""


Work = Callable[[InvocationContext, TurnRecord], Awaitable[State]]
"""A stage's part of the turn; returns the state to persist, {} for none."""


def step(take: Callable[[TurnRecord], Awaitable[None]]) -> Work:
    """A step of the turn as the work of a stage that persists no state."""

    async def work(_: InvocationContext, record: TurnRecord) -> State:
        await take(record)
        return {}

    return work


class ContentlessStage(BaseAgent):
    """A stage without content events: a step of the turn, as an agent of ADK."""

    _records: TurnRecords = PrivateAttr()
    _work: Work = PrivateAttr()

    def __init__(self, records: TurnRecords, name: str, description: str, work: Work) -> None:
        super().__init__(name=name, description=description)
        self._records, self._work = records, work

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        state = await self._work(ctx, self._records.get(session_key(ctx)))
        if state:
            yield state_event(ctx, self.name, state)


def playbook_projection(record: TurnRecord) -> State:
    """The playbook as session.state shows it.

    Every session of the app sees that key, so a user's own playbook is not shown there. A session
    service that is not ours keeps each change in an event, so it gets the version alone.
    """
    stored, scope = record.playbook, record.start.playbook_scope
    if stored is None or scope is None or scope.user is not None:
        return {}
    return {
        keys.PLAYBOOK: {"version": stored.version} if record.marks_playbook else stored.to_state()
    }


def projection(record: TurnRecord) -> State:
    """Our persisted keys, as the stores have them."""
    state = record.state if record.is_written else record.start.previous
    ccs: State = {keys.CCS: state.to_state()} if state.version else {}
    return {**ccs, **playbook_projection(record)}


def protect_state_keys(ctx: InvocationContext, event: Event, record: TurnRecord) -> None:
    """Drop writes of tools and model callbacks to our keys, with a warning."""
    for key in sorted(keys.PERSISTED & event.actions.state_delta.keys()):
        del event.actions.state_delta[key]
        true = projection(record).get(key)
        # A tool's write is in the running session already, before its event is.
        if true is None:
            ctx.session.state.pop(key, None)
        else:
            ctx.session.state[key] = true
        logger.warning("state_write_ignored session=%s key=%s", record.key.session, key)
        record.observer.warn(f"a tool wrote session.state['{key}']; it was ignored")
