"""Recaller, Qualifier, Compressor: steps 2 to 4 of Algorithm 1 as stages of the pipeline."""

from typing import ClassVar

from google.adk.agents.invocation_context import InvocationContext
from pydantic import PrivateAttr

from acc_ace.adk.stages.history_loader import HistoryLoader
from acc_ace.adk.stages.stage import (
    ACC,
    ContentlessStage,
    ModelStage,
    StageModel,
    State,
)
from acc_ace.container import Container
from acc_ace.schemas.artifact import Recall, RecalledArtifact
from acc_ace.schemas.base import MemoryName
from acc_ace.text.prompt import Prompt
from acc_ace.turn.steps import compress, qualify, recall
from acc_ace.turn.turn_commit import prepared_entry
from acc_ace.turn.turn_record import TurnRecord, TurnRecords, needed


class Recaller(ContentlessStage):
    """Finds at most k candidates by x_t and CCS_{t-1}."""

    memories: ClassVar[frozenset[MemoryName]] = ACC
    requires: ClassVar[frozenset[str]] = frozenset({"turn_input", "previous"})
    provides: ClassVar[frozenset[str]] = frozenset({"recalled"})

    def __init__(self, container: Container, records: TurnRecords) -> None:
        super().__init__(
            container, records, name="recaller", description="Recalls from external memory."
        )

    async def work(self, ctx: InvocationContext, record: TurnRecord) -> State:
        """Search the artifact store. Raises StoreError."""
        with record.stage("recaller"):
            record.recalled = await recall(
                self._container.artifacts,
                key=record.key,
                turn_input=needed(record.turn_input, "turn_input", self.name),
                previous=record.previous,
                limits=self._container.settings.limits,
                at=self._container.local_now(),
            )
            record.warn(*record.recalled.warnings)
            record.recalled = with_lost_calls(record)
        return {}


def with_lost_calls(record: TurnRecord) -> Recall:
    """The candidates, and before them the calls that turns which died had started."""
    lost = [
        RecalledArtifact(artifact=artifact, score=1.0, why=["outcome unknown"])
        for artifact in record.lost_calls
    ]
    candidates = [*lost, *record.recalled.candidates]
    return record.recalled.model_copy(update={"candidates": candidates})


class Qualifier(ModelStage):
    """Lets through what the current decision needs; says why for each candidate."""

    memories: ClassVar[frozenset[MemoryName]] = ACC
    requires: ClassVar[frozenset[str]] = frozenset({"turn_input", "previous", "recalled"})
    provides: ClassVar[frozenset[str]] = frozenset({"qualification"})

    def __init__(
        self, container: Container, records: TurnRecords, model: StageModel, prompt: Prompt
    ) -> None:
        super().__init__(
            container, records, model, prompt, name="qualifier", description="Qualifies candidates."
        )

    async def work(self, ctx: InvocationContext, record: TurnRecord) -> State:
        """Screen, judge, conclude."""
        with record.stage("qualifier") as use:
            qualified = await qualify(
                record.recalled,
                key=record.key,
                turn_input=needed(record.turn_input, "turn_input", self.name),
                previous=record.previous,
                now=self._container.clock.now(),
                limits=self._container.settings.limits,
                completion=self._model.bind(ctx),
                prompt=self._prompt,
            )
            use.count(qualified.asked)
            record.qualification = qualified.qualification
            record.warn(*qualified.asked.warnings)
        return {}


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
