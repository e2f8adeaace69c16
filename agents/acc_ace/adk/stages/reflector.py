"""Reflector: `reflector_` says what helped or harmed, `tag_bullet` counts it on the bullets."""

from typing import ClassVar

from google.adk.agents.invocation_context import InvocationContext

from acc_ace.adk.invocation_context import hand_on
from acc_ace.adk.stages.learning_context import (
    learning_context,
    take_learned,
    taught_scope,
    turn_outcome,
)
from acc_ace.adk.stages.stage import ContentlessStage, ModelStage, StageModel, State
from acc_ace.container import Container
from acc_ace.schemas import state as keys
from acc_ace.text.prompt import Prompt
from acc_ace.turn.learning_step import apply_tags, reflect
from acc_ace.turn.reflection import with_current_bullets
from acc_ace.turn.turn_record import TurnRecord, TurnRecords, needed


class ReflectorModel(ModelStage):
    """`reflector_`: one model call over the finished turn."""

    requires: ClassVar[frozenset[str]] = frozenset({"generation", "entry", "playbook"})
    provides: ClassVar[frozenset[str]] = frozenset({"reflection"})

    def __init__(
        self, container: Container, records: TurnRecords, model: StageModel, prompt: Prompt
    ) -> None:
        super().__init__(
            container, records, model, prompt, name="reflector_", description="Reflects."
        )

    async def work(self, ctx: InvocationContext, record: TurnRecord) -> State:
        """Hand on a Reflection; none when the turn waits for a person, or the model failed."""
        if record.paused:
            return {}
        with record.stage("reflector") as use:
            playbook = needed(record.playbook, "playbook", self.name).playbook
            record.outcome = await with_current_bullets(
                turn_outcome(record), self._container.playbooks, taught_scope(record), playbook
            )
            asked = await reflect(
                record.outcome,
                playbook,
                completion=self._model.bind(ctx),
                prompt=self._prompt,
                limits=self._container.settings.limits,
                max_rounds=self._container.settings.reflector_max_rounds,
            )
            use.count(asked)
            record.warn(*asked.warnings)
            record.reflection = asked.value
            if asked.value is not None:
                hand_on(ctx, keys.REFLECTOR_OUTPUT, asked.value)
        return {}


class TagBullet(ContentlessStage):
    """`tag_bullet`: counts the tags on the bullets that were used."""

    requires: ClassVar[frozenset[str]] = frozenset({"reflection"})

    def __init__(self, container: Container, records: TurnRecords) -> None:
        super().__init__(
            container, records, name="tag_bullet", description="Counts tags on used bullets."
        )

    async def work(self, ctx: InvocationContext, record: TurnRecord) -> State:
        """Commit the tags. Raises ConflictError or StoreError."""
        reflection = record.reflection
        if reflection is None or not (reflection.bullet_tags or reflection.previous_bullet_tags):
            return {}
        with record.timed("reflector"):
            learned = await apply_tags(
                self._container.playbooks,
                taught_scope(record),
                reflection,
                turn_outcome(record),
                learning_context(self._container, record),
            )
        return take_learned(record, learned)
