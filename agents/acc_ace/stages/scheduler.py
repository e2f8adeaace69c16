"""Scheduler: hands the answered turn over to background learning."""

from google.adk.agents.invocation_context import InvocationContext
from pydantic import PrivateAttr

from acc_ace.background import BackgroundLearning
from acc_ace.stages.stage import ContentlessStage, State
from acc_ace.turn_record import TurnRecord, TurnRecords
from core.container import Container


class Scheduler(ContentlessStage):
    """Stands where Reflector and Curator stand when they work inline."""

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
