"""Reflector: `reflector_` says what helped or harmed, `tag_bullet` counts it on the bullets."""

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
from core.turn.learning import apply_tags, curation_context, reflect
from schemas import state as keys
from schemas.reflection import Reflection
from schemas.tenancy import PlaybookScope


class ReflectorModel(BaseAgent):
    """`reflector_`: one model call over the finished turn."""

    _container: Container = PrivateAttr()
    _records: TurnRecords = PrivateAttr()
    _model: StructuredAgent = PrivateAttr()
    _prompt: Prompt = PrivateAttr()

    def __init__(
        self, container: Container, records: TurnRecords, model: StructuredAgent, prompt: Prompt
    ) -> None:
        super().__init__(name="reflector_", description="Reflects on the finished turn.")
        self._container, self._records = container, records
        self._model, self._prompt = model, prompt

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        record = self._records.get(session_key(ctx))
        if record.paused:
            return  # The turn waits for a person; there is nothing to reflect on yet.
        with record.stage("reflector") as use:
            asked = await reflect(
                turn_outcome(record),
                needed(record.playbook, "playbook", self.name).playbook,
                completion=self._model.bind(ctx),
                prompt=self._prompt,
                limits=self._container.settings.limits,
            )
            use.count(asked)
            record.warn(*asked.warnings)
            if asked.value is not None:
                hand_on(ctx, keys.REFLECTION, asked.value)
        return
        yield  # An async generator without events.


class TagBullet(BaseAgent):
    """`tag_bullet`: counts the tags on the bullets that were used."""

    _container: Container = PrivateAttr()
    _records: TurnRecords = PrivateAttr()

    def __init__(self, container: Container, records: TurnRecords) -> None:
        super().__init__(name="tag_bullet", description="Counts tags on used bullets.")
        self._container, self._records = container, records

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        reflection = handed_on(ctx, keys.REFLECTION, Reflection)
        if reflection is None or not reflection.bullet_tags:
            return
        record = self._records.get(session_key(ctx))
        outcome = turn_outcome(record)
        with record.timed("reflector"):
            learned = await apply_tags(
                self._container.playbooks,
                PlaybookScope(record.key.app),
                reflection,
                outcome.generation.bullet_ids,
                curation_context(
                    outcome,
                    self._container.settings.limits,
                    at=self._container.clock.now(),
                    user=record.key.user,
                    session=record.key.session,
                ),
            )
            record.playbook = learned.stored
        if learned.changed:
            yield state_event(ctx, self.name, {keys.PLAYBOOK: learned.stored.to_state()})
