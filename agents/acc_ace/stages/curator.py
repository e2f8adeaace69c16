"""Curator: `curator_` proposes deltas, `playbook_updater` applies what stands the checks."""

from collections.abc import AsyncGenerator

from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from pydantic import PrivateAttr

from acc_ace.adk_completion import StructuredAgent
from acc_ace.context import hand_on, session_key, state_event
from acc_ace.stages.learning import handed_on, turn_outcome
from acc_ace.stages.needs import needed
from acc_ace.turn_record import TurnRecords
from core.container import Container
from core.domain.prompt import Prompt
from core.turn.learning import apply_batch, curation_context, propose_deltas
from schemas import state as keys
from schemas.delta import DeltaBatch
from schemas.reflection import Reflection
from schemas.tenancy import PlaybookScope


class CuratorModel(BaseAgent):
    """`curator_`: one model call over the reflection; none when there is no reflection."""

    _container: Container = PrivateAttr()
    _records: TurnRecords = PrivateAttr()
    _model: StructuredAgent = PrivateAttr()
    _prompt: Prompt = PrivateAttr()

    def __init__(
        self, container: Container, records: TurnRecords, model: StructuredAgent, prompt: Prompt
    ) -> None:
        super().__init__(name="curator_", description="Proposes playbook deltas.")
        self._container, self._records = container, records
        self._model, self._prompt = model, prompt

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        reflection = handed_on(ctx, keys.REFLECTION, Reflection)
        if reflection is None:
            return
        record = self._records.get(session_key(ctx))
        with record.stage("curator") as use:
            asked = await propose_deltas(
                reflection,
                turn_outcome(record),
                needed(record.playbook, "playbook", self.name).playbook,
                completion=self._model.bind(ctx),
                prompt=self._prompt,
                limits=self._container.settings.limits,
            )
            use.count(asked)
            record.warn(*asked.warnings)
            if asked.value is not None:
                hand_on(ctx, keys.CURATION, asked.value)
        return
        yield  # An async generator without events.


class PlaybookUpdater(BaseAgent):
    """`playbook_updater`: each operation ends as applied, held or rejected, with a reason."""

    _container: Container = PrivateAttr()
    _records: TurnRecords = PrivateAttr()

    def __init__(self, container: Container, records: TurnRecords) -> None:
        super().__init__(name="playbook_updater", description="Applies deltas to the playbook.")
        self._container, self._records = container, records

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        batch = handed_on(ctx, keys.CURATION, DeltaBatch)
        if batch is None or not batch.operations:
            return
        record = self._records.get(session_key(ctx))
        outcome = turn_outcome(record)
        with record.timed("curator"):
            learned = await apply_batch(
                self._container.playbooks,
                PlaybookScope(record.key.app),
                batch,
                curation_context(
                    outcome,
                    self._container.settings.limits,
                    at=self._container.clock.now(),
                    user=record.key.user,
                    session=record.key.session,
                ),
            )
            record.playbook = learned.stored
            record.deltas.extend(learned.curated.results)
        if learned.changed:
            yield state_event(ctx, self.name, {keys.PLAYBOOK: learned.stored.to_state()})
