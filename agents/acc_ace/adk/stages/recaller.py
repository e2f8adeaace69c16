"""Recaller: step 2, A_t from external memory. It has no prompt: recall is a search."""

from typing import ClassVar

from google.adk.agents.invocation_context import InvocationContext

from acc_ace.adk.stages.stage import ACC, ContentlessStage, State
from acc_ace.container import Container
from acc_ace.schemas.artifact import Recall, RecalledArtifact
from acc_ace.schemas.base import MemoryName
from acc_ace.turn.steps import recall
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
    """The candidates, and before them the calls that turns which died had begun."""
    lost = [
        RecalledArtifact(artifact=artifact, score=1.0, why=["outcome unknown"])
        for artifact in record.lost_calls
    ]
    candidates = [*lost, *record.recalled.candidates]
    return record.recalled.model_copy(update={"candidates": candidates})
