"""Base of every stage around the Generator: work on the turn, and at most one state event.

A stage that emitted content would become the anchor of the next stage's view of the session, and
would show in the chat; so a stage can only return state.
"""

import logging
from abc import abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import ClassVar

from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from pydantic import PrivateAttr

from acc_ace.adk.user_content import session_key, state_event
from acc_ace.config import Role
from acc_ace.container import Container
from acc_ace.core.schemas import state as keys
from acc_ace.turn.structured_call import Completion
from acc_ace.turn.turn_record import TurnRecord, TurnRecords

logger = logging.getLogger(__name__)

State = dict[str, object]
"""Keys of session.state to persist, with their values."""

Completions = Callable[[InvocationContext], Mapping[Role, Completion]]
"""The model calls of stages, by role: inner agents of the pipeline, or direct calls."""


class ContentlessStage(BaseAgent):
    """A stage without content events. Subclasses implement `work`."""

    requires: ClassVar[frozenset[str]] = frozenset()
    """Values of the turn that earlier stages must provide."""
    provides: ClassVar[frozenset[str]] = frozenset()
    """Values of the turn that it provides."""

    _container: Container = PrivateAttr()
    _records: TurnRecords = PrivateAttr()

    def __init__(
        self, container: Container, records: TurnRecords, *, name: str, description: str
    ) -> None:
        super().__init__(name=name, description=description)
        self._container, self._records = container, records

    @abstractmethod
    async def work(self, ctx: InvocationContext, record: TurnRecord) -> State:
        """Do the stage's part of the turn; return the state to persist, {} for none."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        record = self._records.get(session_key(ctx))
        state = await self.work(ctx, record)
        if state:
            yield state_event(ctx, self.name, state)


class ModelStage(ContentlessStage):
    """A contentless stage that calls a model."""

    _completions: Completions = PrivateAttr()

    def __init__(
        self,
        container: Container,
        records: TurnRecords,
        completions: Completions,
        *,
        name: str,
        description: str,
    ) -> None:
        super().__init__(container, records, name=name, description=description)
        self._completions = completions


def playbook_projection(record: TurnRecord) -> dict[str, object]:
    """The playbook as session.state shows it.

    Every session of the app sees that key, so a user's own playbook is not shown there. A session
    service that is not ours keeps each change in an event, so it gets the version alone.
    """
    stored, scope = record.playbook, record.playbook_scope
    if stored is None or scope is None or scope.user is not None:
        return {}
    return {
        keys.PLAYBOOK: {"version": stored.version} if record.marks_playbook else stored.to_state()
    }


def protect_state_keys(ctx: InvocationContext, event: Event, record: TurnRecord) -> None:
    """Drop writes of tools and model callbacks to our keys, with a warning."""
    for key in sorted(keys.PERSISTED & event.actions.state_delta.keys()):
        del event.actions.state_delta[key]
        true = _projections(record).get(key)
        # A tool's write is in the running session already, before its event is.
        if true is None:
            ctx.session.state.pop(key, None)
        else:
            ctx.session.state[key] = true
        logger.warning("state_write_ignored session=%s key=%s", record.key.session, key)
        record.warn(f"a tool wrote session.state['{key}']; it was ignored")


def _projections(record: TurnRecord) -> dict[str, object]:
    before = record.previous
    ccs = {keys.CCS: before.to_state()} if before.version else {}
    return {**ccs, **playbook_projection(record)}
