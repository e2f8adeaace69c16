"""Recaller: step 2, A_t from external memory. It has no prompt: recall is a search."""

from collections.abc import AsyncGenerator

from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from pydantic import PrivateAttr

from acc_ace.context import hand_on, session_key
from acc_ace.stages.needs import needed
from acc_ace.turn_record import TurnRecords
from core.container import Container
from core.turn.recalling import recall
from schemas import state as keys


class Recaller(BaseAgent):
    """Finds at most k candidates by x_t and CCS_{t-1}."""

    _container: Container = PrivateAttr()
    _records: TurnRecords = PrivateAttr()

    def __init__(self, container: Container, records: TurnRecords) -> None:
        super().__init__(name="recaller", description="Recalls candidates from external memory.")
        self._container = container
        self._records = records

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        record = self._records.get(session_key(ctx))
        with record.stage("recaller"):
            record.recalled = await recall(
                self._container.artifacts,
                key=record.key,
                turn_input=needed(record.turn_input, "turn_input", self.name),
                previous=record.previous,
                limits=self._container.settings.limits,
            )
            hand_on(ctx, keys.RECALL, record.recalled)
        return
        yield  # An async generator without events.
