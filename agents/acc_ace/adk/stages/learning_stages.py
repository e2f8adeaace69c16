"""Reflector and Curator after the answer (ACE, section 3), or the hand-over to the background.

`reflector_` says what helped or harmed, `tag_bullet` counts it on the bullets; `curator_` proposes
deltas, `playbook_updater` applies those that pass the checks. The Scheduler submits the answered
turn as a job instead.
"""

from collections.abc import Mapping
from typing import ClassVar

from google.adk.agents.invocation_context import InvocationContext
from google.adk.models import BaseLlm
from pydantic import PrivateAttr

from acc_ace.adk.stages.learning_notes import (
    look_for_evidence,
    note_departures,
    note_learned,
    turn_outcome,
)
from acc_ace.adk.stages.stage import (
    Completions,
    ContentlessStage,
    ModelStage,
    State,
    playbook_projection,
)
from acc_ace.adk.user_content import hand_on
from acc_ace.config import Role
from acc_ace.container import Container
from acc_ace.core.playbook.curation.delta_guard import CurationContext
from acc_ace.core.playbook.refine.refinement import PlaybookRefiner, stale_time
from acc_ace.core.schemas import state as keys
from acc_ace.core.schemas.base import PlaybookScope
from acc_ace.hooks import LEARNING, only
from acc_ace.turn.algorithm import require
from acc_ace.turn.learning_queue import TurnLearning
from acc_ace.turn.learning_step import (
    Learned,
    apply_batch,
    apply_tags,
    curation_context,
    propose_deltas,
    reflect,
)
from acc_ace.turn.reflection_step import with_current_bullets
from acc_ace.turn.structured_call import load_prompts
from acc_ace.turn.turn_record import TurnRecord, TurnRecords


def learning_context(container: Container, record: TurnRecord) -> CurationContext:
    """Provenance of a playbook change: its user, time and turn."""
    return curation_context(
        turn_outcome(record),
        container.settings.limits,
        at=container.clock.now(),
        user=record.key.user,
        session=record.key.session,
        shared=taught_scope(record).user is None,
        stale_after=stale_time(container.settings.stale_days),
    )


def taught_scope(record: TurnRecord) -> PlaybookScope:
    """The playbook that the turn teaches: the one that it was answered with."""
    return require(record.playbook_scope, "playbook_scope", "learning")


def take_learned(record: TurnRecord, learned: Learned) -> dict[str, object]:
    """Adopt the current playbook; return the changes of session.state."""
    record.playbook = learned.stored
    return playbook_projection(record) if learned.changed else {}


def refinery(container: Container) -> PlaybookRefiner:
    """The playbook refiner, as the settings say."""
    return PlaybookRefiner(
        container.playbooks,
        interval=container.settings.refine_interval,
        stale_days=container.settings.stale_days,
    )


class ReflectorModel(ModelStage):
    """`reflector_`: one model call over the finished turn."""

    requires: ClassVar[frozenset[str]] = frozenset({"decision", "entry", "playbook"})
    provides: ClassVar[frozenset[str]] = frozenset({"reflection"})

    def __init__(
        self, container: Container, records: TurnRecords, completions: Completions
    ) -> None:
        super().__init__(
            container, records, completions, name="reflector_", description="Reflects."
        )

    async def work(self, ctx: InvocationContext, record: TurnRecord) -> State:
        """Hand on a Reflection; none when the turn waits for a person, or the model failed.

        Without evidence no model is asked; the report says so.
        """
        if record.paused:
            return {}
        with record.stage("reflector") as use:
            if not look_for_evidence(self._container, record):
                return {}
            playbook = require(record.playbook, "playbook", self.name).playbook
            record.outcome = await with_current_bullets(
                turn_outcome(record), self._container.playbooks, taught_scope(record), playbook
            )
            asked = await reflect(
                record.outcome,
                playbook,
                completion=self._completions(ctx)["reflector"],
                prompt=load_prompts().reflector,
                limits=self._container.settings.limits,
                max_rounds=self._container.settings.reflector_max_rounds,
            )
            record.count(use, asked)
            record.reflection = asked.value
            if asked.value is not None:
                hand_on(ctx, keys.REFLECTOR_OUTPUT, asked.value)
                await note_learned(self._container, record)
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


class CuratorModel(ModelStage):
    """`curator_`: one model call over the reflection; none when there is no reflection."""

    requires: ClassVar[frozenset[str]] = frozenset({"reflection", "playbook"})
    provides: ClassVar[frozenset[str]] = frozenset({"batch"})

    def __init__(
        self, container: Container, records: TurnRecords, completions: Completions
    ) -> None:
        super().__init__(
            container, records, completions, name="curator_", description="Proposes deltas."
        )

    async def work(self, ctx: InvocationContext, record: TurnRecord) -> State:
        """Hand on a DeltaBatch."""
        reflection = record.reflection
        if record.paused:
            return {}
        with record.stage("curator") as use:
            if reflection is None:
                return {}
            asked = await propose_deltas(
                reflection,
                turn_outcome(record),
                require(record.playbook, "playbook", self.name).playbook,
                completion=self._completions(ctx)["curator"],
                prompt=load_prompts().curator,
                limits=self._container.settings.limits,
            )
            record.count(use, asked)
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
        if record.reflection is None:
            return {}
        context = learning_context(self._container, record)
        with record.timed("curator"):
            state = await self._apply(context, record)
            refinement = await self._refinery.after_turn(taught_scope(record), context)
        if refinement is None:
            return state
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
        note_departures(record, learned.curated)
        return take_learned(record, learned)


class Scheduler(ContentlessStage):
    """Replaces Reflector and Curator when they run in the background."""

    requires: ClassVar[frozenset[str]] = frozenset({"decision", "entry"})

    _learning: TurnLearning = PrivateAttr()

    def __init__(self, container: Container, records: TurnRecords, learning: TurnLearning) -> None:
        super().__init__(
            container, records, name="scheduler", description="Lets learning happen later."
        )
        self._learning = learning

    async def work(self, ctx: InvocationContext, record: TurnRecord) -> State:
        """Enqueue the job, unless the turn waits for a person or has no evidence.

        Raises StoreError.
        """
        answered = record.answered and not record.paused
        if answered and look_for_evidence(self._container, record):
            await self._learning.submit(record)
        return {}


def background_learning(
    container: Container, models: Mapping[Role, BaseLlm] | None
) -> TurnLearning | None:
    """Background learning, if it is configured; raises ConfigError if it cannot be used."""
    if container.settings.learning != "background":
        return None
    return only(LEARNING, "ACC_ACE_LEARNING=background").open_learning(container, models)


def learning_stages(
    container: Container,
    records: TurnRecords,
    completions: Completions,
    learning: TurnLearning | None,
) -> tuple[ContentlessStage, ...]:
    """The stages after the answer, as the settings say: the pair's, a job for them, or none.

    Reflector and Curator are two stages each, in this order.
    """
    if learning is not None:
        return (Scheduler(container, records, learning),)
    if container.settings.learning == "off":
        return ()
    return (
        ReflectorModel(container, records, completions),
        TagBullet(container, records),
        CuratorModel(container, records, completions),
        PlaybookUpdater(container, records),
    )
