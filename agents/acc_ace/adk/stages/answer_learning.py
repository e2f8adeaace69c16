"""Reflector and Curator after the answer (ACE, section 3), or the hand-over to the background.

`reflect` says what helped or harmed, `tag` counts it on the bullets; `curate` proposes deltas,
`update` applies those that pass the checks.
"""

from collections.abc import Awaitable, Callable, Mapping

from acc_ace.config import Role
from acc_ace.container import Container
from acc_ace.core.playbook.curation.curation_record import OVER_BUDGET, Curated
from acc_ace.core.playbook.curation.delta_guard import CurationContext
from acc_ace.core.playbook.refine.refinement import PlaybookRefiner, stale_time
from acc_ace.core.schemas.base import Authority, PlaybookScope
from acc_ace.core.schemas.delta import DeltaBatch
from acc_ace.core.schemas.reflection import Reflection
from acc_ace.core.schemas.report import ReportedLearning
from acc_ace.turn.learning_step import (
    Learned,
    apply_batch,
    apply_tags,
    curation_context,
    propose_deltas,
    reflect,
    resting_on,
)
from acc_ace.turn.reflection_step import evidence_of, with_current_bullets
from acc_ace.turn.structured_call import Completion, load_prompts
from acc_ace.turn.turn_record import TurnOutcome, TurnRecord, require

Later = Callable[[TurnRecord], Awaitable[None]]
"""Queues an answered turn, to be learnt from later."""


class AnswerLearning:
    """Learns from answered turns, step by step; `later` queues them instead."""

    def __init__(self, container: Container, later: Later | None = None) -> None:
        self._container, self._later = container, later
        self._settings = container.settings
        self._refiner = PlaybookRefiner(
            container.playbooks,
            interval=self._settings.refine_interval,
            stale_days=self._settings.stale_days,
        )

    @property
    def is_later(self) -> bool:
        """Whether answered turns are queued."""
        return self._later is not None

    async def learn(self, record: TurnRecord, models: Mapping[Role, Completion]) -> None:
        """All steps, now or later or not at all. Raises ConflictError or StoreError."""
        if self._later is not None:
            await self.queue(record)
        elif self._settings.learning != "off":
            await self.reflect(record, models)
            await self.tag(record)
            await self.curate(record, models)
            await self.update(record)

    async def queue(self, record: TurnRecord) -> None:
        """Queue an answered turn that has evidence. Raises StoreError."""
        if self._later is not None and record.answered and self._has_evidence(record):
            await self._later(record)

    async def reflect(
        self, record: TurnRecord, models: Mapping[Role, Completion]
    ) -> Reflection | None:
        """Reflect; None when the turn waits for a person, or the model failed.

        Without evidence no model is asked; the report says so.
        """
        if record.paused:
            return None
        with record.observer.stage("reflector") as use:
            if not self._has_evidence(record):
                return None
            playbook, learning = record.lessons, record.learning
            learning.outcome = await with_current_bullets(
                turn_outcome(record), self._container.playbooks, _scope(record), playbook
            )
            result = await reflect(
                learning.outcome,
                playbook,
                completion=models["reflector"],
                prompt=load_prompts().reflector,
                limits=self._settings.limits,
                max_rounds=self._settings.reflector_max_rounds,
            )
            record.observer.count(use, result)
            learning.reflection = result.value
            if result.value is not None:
                await self._note_learned(record)
            return result.value

    async def tag(self, record: TurnRecord) -> bool:
        """Count the tags on the bullets that were used; whether the playbook has changed.

        Raises ConflictError or StoreError.
        """
        reflection = record.learning.reflection
        if reflection is None or not (reflection.bullet_tags or reflection.previous_bullet_tags):
            return False
        with record.observer.timed("reflector"):
            learned = await apply_tags(
                self._container.playbooks,
                _scope(record),
                reflection,
                turn_outcome(record),
                self._context(record),
            )
        return _take(record, learned)

    async def curate(
        self, record: TurnRecord, models: Mapping[Role, Completion]
    ) -> DeltaBatch | None:
        """Propose deltas; None without a reflection, or when the model failed."""
        if record.paused:
            return None
        with record.observer.stage("curator") as use:
            if record.learning.reflection is None:
                return None
            result = await propose_deltas(
                record.learning.reflection,
                turn_outcome(record),
                record.lessons,
                completion=models["curator"],
                prompt=load_prompts().curator,
                limits=self._settings.limits,
            )
            record.observer.count(use, result)
            record.learning.batch = result.value
            return result.value

    async def update(self, record: TurnRecord) -> bool:
        """Apply the deltas, each applied, held or rejected; refine every `refine_interval` turns.

        Returns whether the playbook has changed. Raises ConflictError or StoreError.
        """
        if record.learning.reflection is None:
            return False
        context, scope = self._context(record), _scope(record)
        with record.observer.timed("curator"):
            is_changed = await self._apply(record, context, scope)
            refinement = await self._refiner.after_turn(scope, context)
        if refinement is None or not refinement.refined.steps:
            return is_changed
        record.playbook = refinement.stored
        return True

    async def _apply(
        self, record: TurnRecord, context: CurationContext, scope: PlaybookScope
    ) -> bool:
        batch = record.learning.batch
        if batch is None or not (batch.operations or batch.unreadable):
            return False
        learned = await apply_batch(self._container.playbooks, scope, batch, context)
        record.learning.deltas.extend(learned.curated.results)
        _note_departures(record, learned.curated)
        return _take(record, learned)

    def _context(self, record: TurnRecord) -> CurationContext:
        """Provenance of a playbook change: its user, time and turn."""
        context = curation_context(
            turn_outcome(record),
            self._settings.limits,
            at=self._container.clock.now(),
            user=record.key.user,
            session=record.key.session,
            shared=_scope(record).user is None,
            stale_after=stale_time(self._settings.stale_days),
        )
        reflection = record.learning.reflection
        return resting_on(reflection, context) if reflection else context

    def _has_evidence(self, record: TurnRecord) -> bool:
        """Whether the turn is learnt from; reports its evidence, or that there is none."""
        evidence = evidence_of(turn_outcome(record))
        is_learnt_from = bool(evidence) or self._settings.learn_on == "every"
        skipped = "" if is_learnt_from else "no_evidence"
        if skipped:
            saved = record.observer.saved
            saved["reflector"] = saved["curator"] = skipped
        record.learning.report = ReportedLearning(evidence=list(evidence), skipped=skipped)
        return is_learnt_from

    async def _note_learned(self, record: TurnRecord) -> None:
        """Mark the turn's own feedback as learned; the turn still holds its session."""
        evidence, start = self._container.evidence, record.start
        turn = await evidence.last(start.key) if start.feedback else None
        if turn is not None and turn.invocation_id == start.evidence_id:
            await evidence.record(start.key, turn.with_feedback_learned())


def turn_outcome(record: TurnRecord) -> TurnOutcome:
    """The finished turn; raises LookupError when it was not answered."""
    if record.learning.outcome is not None:
        return record.learning.outcome
    start, tools = record.start, record.tools
    return TurnOutcome(
        turn_input=start.x_t,
        state=record.state,
        generation=require(record.decision, "decision", "learning"),
        tool_results=tools.results,
        previous=start.previous_turn,
        warnings=record.observer.warnings,
        feedback=start.feedback,
        documents=tuple(
            item.content
            for item in record.qualification.qualified
            if item.authority in {Authority.TOOL, Authority.RETRIEVED}
        ),
        guarded=any(decision.rule_id for decision in (*start.guarded, *tools.guarded)),
        tool_calls=tools.calls,
    )


def _scope(record: TurnRecord) -> PlaybookScope:
    """The playbook that the turn teaches: the one that it was answered with."""
    return require(record.start.playbook_scope, "playbook_scope", "learning")


def _take(record: TurnRecord, learned: Learned) -> bool:
    """Adopt the current playbook; whether it has changed."""
    record.playbook = learned.stored
    return learned.changed


def _note_departures(record: TurnRecord, curated: Curated) -> None:
    """Report which bullets left a full playbook, or that there was no room."""
    report, observer = record.learning.report, record.observer
    left = curated.departures
    if left:
        record.learning.report = report.model_copy(update={"left": [*report.left, *left]})
        ids = ", ".join(gone.bullet_id for gone in left)
        observer.warn(
            f"the playbook is full: {ids} left to make room; 'playbook restore' reverts that"
        )
    if any(result.reason == OVER_BUDGET for result in curated.results):
        observer.warn(
            "the playbook is full of proven and pinned lessons: a new one is held; unpin or remove "
            "some, or raise ACC_ACE_LIMITS__PLAYBOOK_BULLETS or …PLAYBOOK_TOKENS"
        )
