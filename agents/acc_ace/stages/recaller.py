"""Recaller: step 2, A_t from external memory. It has no prompt: recall is a search."""

from typing import ClassVar

from google.adk.agents.invocation_context import InvocationContext

from acc_ace.context import hand_on
from acc_ace.stages.needs import needed
from acc_ace.stages.stage import ACC, ContentlessStage, State
from acc_ace.turn_record import TurnRecord, TurnRecords
from core.container import Container
from core.turn.recalling import recall
from schemas import state as keys
from schemas.memory_name import MemoryName


class Recaller(ContentlessStage):
    """Finds at most k candidates by x_t and CCS_{t-1}."""

    memories: ClassVar[frozenset[MemoryName]] = ACC

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
            hand_on(ctx, keys.RECALL, record.recalled)
        return {}
