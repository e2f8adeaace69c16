"""Curator: `curator_` proposes deltas, `playbook_updater` applies what stands the checks."""

from typing import ClassVar

from google.adk.agents.invocation_context import InvocationContext

from acc_ace.adk.invocation_context import hand_on
from acc_ace.adk.stages.learning_context import (
    learning_context,
    playbook_projection,
    refinery,
    take_learned,
    taught_scope,
    turn_outcome,
)
from acc_ace.adk.stages.stage import ContentlessStage, ModelStage, StageModel, State
from acc_ace.container import Container
from acc_ace.playbook.curation.delta_guard import CurationContext
from acc_ace.schemas import state as keys
from acc_ace.text.prompt import Prompt
from acc_ace.turn.learning_step import apply_batch, propose_deltas
from acc_ace.turn.turn_record import TurnRecord, TurnRecords, needed


class CuratorModel(ModelStage):
    """`curator_`: one model call over the reflection; none when there is no reflection."""

    requires: ClassVar[frozenset[str]] = frozenset({"reflection", "playbook"})
    provides: ClassVar[frozenset[str]] = frozenset({"batch"})

    def __init__(
        self, container: Container, records: TurnRecords, model: StageModel, prompt: Prompt
    ) -> None:
        super().__init__(
            container, records, model, prompt, name="curator_", description="Proposes deltas."
        )

    async def work(self, ctx: InvocationContext, record: TurnRecord) -> State:
        """Hand on a DeltaBatch."""
        reflection = record.reflection
        if reflection is None:
            return {}
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
            record.batch = asked.value
            if asked.value is not None:
                hand_on(ctx, keys.CURATOR_OUTPUT, asked.value)
        return {}


class PlaybookUpdater(ContentlessStage):
    """`playbook_updater`: each operation ends as applied, held or rejected, with a reason.

    Every `refine_interval` turns it refines the playbook too.
    """

    requires: ClassVar[frozenset[str]] = frozenset({"batch"})

    def __init__(self, container: Container, records: TurnRecords) -> None:
        super().__init__(container, records, name="playbook_updater", description="Applies deltas.")
        self._refinery = refinery(container)

    async def work(self, ctx: InvocationContext, record: TurnRecord) -> State:
        """Commit the deltas. Raises ConflictError or StoreError."""
        context = learning_context(self._container, record)
        with record.timed("curator"):
            state = await self._apply(context, record)
            refinement = await self._refinery.after_turn(taught_scope(record), context)
        if refinement is None:
            return state
        record.warn(*refinement.warnings)
        if not refinement.refined.steps:
            return state
        record.playbook = refinement.stored
        return playbook_projection(record)

    async def _apply(self, context: CurationContext, record: TurnRecord) -> State:
        batch = record.batch
        if batch is None or not (batch.operations or batch.unreadable):
            return {}
        learned = await apply_batch(self._container.playbooks, taught_scope(record), batch, context)
        record.deltas.extend(learned.curated.results)
        return take_learned(record, learned)
