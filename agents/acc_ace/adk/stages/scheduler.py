"""Scheduler: hands the answered turn over to background learning."""

from typing import ClassVar

from google.adk.agents.invocation_context import InvocationContext
from pydantic import PrivateAttr

from acc_ace.adk.background_learning import BackgroundLearning
from acc_ace.adk.stages.stage import ContentlessStage, State
from acc_ace.container import Container
from acc_ace.turn.turn_record import TurnRecord, TurnRecords


class Scheduler(ContentlessStage):
    """Stands where Reflector and Curator stand when they work inline."""

    requires: ClassVar[frozenset[str]] = frozenset({"generation", "entry"})

    _learning: BackgroundLearning = PrivateAttr()

    def __init__(
        self, container: Container, records: TurnRecords, learning: BackgroundLearning
    ) -> None:
        super().__init__(
            container, records, name="scheduler", description="Lets learning happen later."
        )
        self._learning = learning

    async def work(self, ctx: InvocationContext, record: TurnRecord) -> State:
        """Keep the job; nothing when the turn waits for a person. Raises StoreError."""
        if record.answered and not record.paused:
            await self._learning.submit(record)
        return {}
