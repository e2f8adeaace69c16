"""Qualifier: step 3, A_t to A_t+. At most one model call, none when the rules leave nothing."""

from typing import ClassVar

from google.adk.agents.invocation_context import InvocationContext

from acc_ace.context import hand_on
from acc_ace.stages.needs import needed
from acc_ace.stages.stage import ACC, ModelStage, StageModel, State
from acc_ace.turn_record import TurnRecord, TurnRecords
from core.container import Container
from core.domain.prompt import Prompt
from core.turn.qualifying import qualify
from schemas import state as keys
from schemas.memory_name import MemoryName


class Qualifier(ModelStage):
    """Lets through what the current decision needs; says why for each candidate."""

    memories: ClassVar[frozenset[MemoryName]] = ACC

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
            hand_on(ctx, keys.QUALIFICATION, record.qualification)
        return {}
