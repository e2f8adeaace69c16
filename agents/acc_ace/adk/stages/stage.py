"""What every stage around the Generator is: work on the turn, and at most one state event.

A stage that emitted content would become the anchor of the next stage's view of the session, and
would show in the chat; so what a stage gives back can only be state.
"""

from abc import abstractmethod
from collections.abc import AsyncGenerator
from typing import ClassVar, Protocol

from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from pydantic import PrivateAttr

from acc_ace.adk.user_content import session_key, state_event
from acc_ace.container import Container
from acc_ace.schemas.base import MEMORIES, MemoryName
from acc_ace.text.prompt import Prompt
from acc_ace.turn.structured_call import Completion
from acc_ace.turn.turn_record import TurnRecord, TurnRecords

State = dict[str, object]
"""Keys of session.state to persist, with their values."""

ANY: frozenset[MemoryName] = frozenset(MEMORIES)
ACC: frozenset[MemoryName] = frozenset({"acc"})


class StageModel(Protocol):
    """Who answers a stage: an inner agent of the pipeline, or a model alone."""

    def bind(self, ctx: InvocationContext) -> Completion:
        """The model as the stage asks it in this invocation."""
        ...


class ContentlessStage(BaseAgent):
    """A stage without content events. Subclasses implement `work`."""

    memories: ClassVar[frozenset[MemoryName]] = ANY
    """The memory strategies with which the stage has work to do."""

    requires: ClassVar[frozenset[str]] = frozenset()
    """Values of the turn that earlier stages have provided."""
    provides: ClassVar[frozenset[str]] = frozenset()
    """Values of the turn that are there after it."""

    _container: Container = PrivateAttr()
    _records: TurnRecords = PrivateAttr()

    def __init__(
        self, container: Container, records: TurnRecords, *, name: str, description: str
    ) -> None:
        super().__init__(name=name, description=description)
        self._container, self._records = container, records

    @abstractmethod
    async def work(self, ctx: InvocationContext, record: TurnRecord) -> State:
        """Do the stage's part of the turn; give back what must persist, {} for nothing."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        record = self._records.get(session_key(ctx))
        if record.memory not in self.memories:
            return
        state = await self.work(ctx, record)
        if state:
            yield state_event(ctx, self.name, state)


class ModelStage(ContentlessStage):
    """A contentless stage that asks a model with a prompt of its own."""

    _model: StageModel = PrivateAttr()
    _prompt: Prompt = PrivateAttr()

    def __init__(
        self,
        container: Container,
        records: TurnRecords,
        model: StageModel,
        prompt: Prompt,
        *,
        name: str,
        description: str,
    ) -> None:
        super().__init__(container, records, name=name, description=description)
        self._model, self._prompt = model, prompt
