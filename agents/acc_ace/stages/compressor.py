"""Compressor: step 4, the CCM proposes CCS_t, the gate disposes, the journal keeps it."""

from typing import ClassVar

from google.adk.agents.invocation_context import InvocationContext

from acc_ace.stages.needs import needed
from acc_ace.stages.stage import ACC, ModelStage, StageModel, State
from acc_ace.turn_record import TurnRecord, TurnRecords
from core.container import Container
from core.domain.prompt import Prompt
from core.turn.committing import commit_state
from core.turn.compressing import compress
from schemas import state as keys
from schemas.memory_name import MemoryName


class Compressor(ModelStage):
    """Replaces CCS_{t-1} by CCS_t."""

    memories: ClassVar[frozenset[MemoryName]] = ACC

    def __init__(
        self, container: Container, records: TurnRecords, model: StageModel, prompt: Prompt
    ) -> None:
        super().__init__(
            container, records, model, prompt, name="compressor", description="Commits CCS_t."
        )

    async def work(self, ctx: InvocationContext, record: TurnRecord) -> State:
        """Compress and commit. Raises ConstraintBudgetError, ConflictError or StoreError.

        The journal has the state before session.state does: after a crash in between the session
        opens at CCS_t.
        """
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
            entry = await record.commit(
                commit_state(
                    self._container.journal,
                    record.key,
                    compressed.gate,
                    invocation_id=ctx.invocation_id,
                    at=self._container.clock.now(),
                    warnings=record.warnings,
                )
            )
        return {keys.CCS: entry.state.to_state()}
