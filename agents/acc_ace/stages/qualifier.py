"""Qualifier: step 3, A_t to A_t+. At most one model call, none when the rules leave nothing."""

from collections.abc import AsyncGenerator

from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from pydantic import PrivateAttr

from acc_ace.adk_completion import StructuredAgent
from acc_ace.context import hand_on, session_key
from acc_ace.stages.needs import needed
from acc_ace.turn_record import TurnRecords
from core.container import Container
from core.domain.prompt import Prompt
from core.turn.qualifying import qualify
from schemas import state as keys


class Qualifier(BaseAgent):
    """Lets through what the current decision needs; says why for each candidate."""

    _container: Container = PrivateAttr()
    _records: TurnRecords = PrivateAttr()
    _model: StructuredAgent = PrivateAttr()
    _prompt: Prompt = PrivateAttr()

    def __init__(
        self, container: Container, records: TurnRecords, model: StructuredAgent, prompt: Prompt
    ) -> None:
        super().__init__(name="qualifier", description="Qualifies recalled candidates.")
        self._container, self._records = container, records
        self._model, self._prompt = model, prompt

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        record = self._records.get(session_key(ctx))
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
        return
        yield  # An async generator without events.
