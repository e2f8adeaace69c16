"""Qualifier: step 3, A_t to A_t+. At most one model call, none when the rules leave nothing."""

from typing import ClassVar

from google.adk.agents.invocation_context import InvocationContext

from acc_ace.adk.stages.stage import ACC, ModelStage, StageModel, State
from acc_ace.container import Container
from acc_ace.schemas.base import MemoryName
from acc_ace.text.prompt import Prompt
from acc_ace.turn.steps import qualify
from acc_ace.turn.turn_record import TurnRecord, TurnRecords, needed


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
