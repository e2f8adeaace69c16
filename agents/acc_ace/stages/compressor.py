"""Compressor: step 4, the CCM proposes CCS_t, the gate disposes, the journal keeps it."""

from collections.abc import AsyncGenerator

from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from pydantic import PrivateAttr

from acc_ace.adk_completion import StructuredAgent
from acc_ace.context import session_key, state_event
from acc_ace.stages.needs import needed
from acc_ace.turn_record import TurnRecords
from core.container import Container
from core.domain.prompt import Prompt
from core.turn.committing import commit_state
from core.turn.compressing import compress
from schemas import state as keys


class Compressor(BaseAgent):
    """Replaces CCS_{t-1} by CCS_t. Raises ConstraintBudgetError, ConflictError or StoreError."""

    _container: Container = PrivateAttr()
    _records: TurnRecords = PrivateAttr()
    _model: StructuredAgent = PrivateAttr()
    _prompt: Prompt = PrivateAttr()

    def __init__(
        self, container: Container, records: TurnRecords, model: StructuredAgent, prompt: Prompt
    ) -> None:
        super().__init__(name="compressor", description="Compresses and commits the state.")
        self._container, self._records = container, records
        self._model, self._prompt = model, prompt

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        record = self._records.get(session_key(ctx))
        with record.stage("compressor") as use:
            compressed = await compress(
                record.qualification,
                turn_input=needed(record.turn_input, "turn_input", self.name),
                previous=record.previous,
                limits=self._container.settings.limits,
                completion=self._model.bind(ctx),
                prompt=self._prompt,
            )
            use.count(compressed.asked)
            record.warn(*compressed.warnings)
            record.committed = await commit_state(
                self._container.journal,
                record.key,
                compressed.gate,
                invocation_id=ctx.invocation_id,
                at=self._container.clock.now(),
                warnings=record.warnings,
            )
        # The journal has it already: after a crash right here the session opens at CCS_t.
        yield state_event(ctx, self.name, {keys.CCS: record.committed.state.to_state()})
