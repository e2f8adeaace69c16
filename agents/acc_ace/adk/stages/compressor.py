"""Compressor: step 4, the CCM proposes CCS_t, the gate disposes; the turn's commit writes it."""

from typing import ClassVar

from google.adk.agents.invocation_context import InvocationContext
from pydantic import PrivateAttr

from acc_ace.adk.stages.history_loader import HistoryLoader
from acc_ace.adk.stages.stage import ModelStage, StageModel, State
from acc_ace.container import Container
from acc_ace.text.prompt import Prompt
from acc_ace.turn.commit import prepared_entry
from acc_ace.turn.steps import compress
from acc_ace.turn.turn_record import TurnRecord, TurnRecords, needed


class Compressor(ModelStage):
    """Prepares CCS_t, which replaces CCS_{t-1} when the turn is committed.

    With a classic memory the state is carried over, and `history` chooses messages instead.
    """

    requires: ClassVar[frozenset[str]] = frozenset({"turn_input", "previous", "qualification"})
    provides: ClassVar[frozenset[str]] = frozenset({"entry"})

    _history: HistoryLoader | None = PrivateAttr()

    def __init__(
        self,
        container: Container,
        records: TurnRecords,
        model: StageModel,
        prompt: Prompt,
        *,
        history: HistoryLoader | None = None,
    ) -> None:
        super().__init__(
            container, records, model, prompt, name="compressor", description="Prepares CCS_t."
        )
        self._history = history

    async def work(self, ctx: InvocationContext, record: TurnRecord) -> State:
        """Compress. Raises ConstraintBudgetError, InputTooLargeError or StoreError."""
        if record.memory != "acc":
            await needed(self._history, "history", self.name).load(record, ctx.invocation_id)
            return {}
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
            record.entry = prepared_entry(
                compressed.gate,
                invocation_id=ctx.invocation_id,
                at=self._container.clock.now(),
                warnings=record.warnings,
            )
        return {}
