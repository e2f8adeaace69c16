"""Run a learning job: load the turn from the evidence, and learn from it once."""

from dataclasses import replace

from acc_ace.container import Container
from acc_ace.core.playbook.playbook_store import IdempotentCommit
from acc_ace.core.playbook.refine.refinement import PlaybookRefiner, stale_time
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.delta import DeltaStatus
from acc_ace.core.schemas.interaction import Interaction, Outcome
from acc_ace.core.schemas.learning_job import LearningJob, LearningKind, LearningOutcome
from acc_ace.core.schemas.report import TokenUse
from acc_ace.core.text.prompt import Prompt
from acc_ace.errors import ModelError, ModelOutputError, NotFoundError
from acc_ace.ext.background.learning_budget import Meter
from acc_ace.turn.feedback_record import learn_from_feedback, mark_learned
from acc_ace.turn.learning_step import LearningResult, Roles, curation_context, learn
from acc_ace.turn.reflection_step import outcome_of
from acc_ace.turn.spending import Metered
from acc_ace.turn.structured_call import Completion, Reply
from acc_ace.turn.turn_record import TurnOutcome

KNOWN = LearningOutcome(outcome="known")
"""An earlier run of the job committed already."""

OBSOLETE = LearningOutcome(outcome="obsolete")
"""The turn was undone, or its session or user was deleted."""

_TURNS_BACK = 20
"""Newer runs of the same turn number to skip."""


class Learner:
    """Learns from stored turns."""

    def __init__(self, container: Container, roles: Roles) -> None:
        self._container, self._roles = container, roles
        self._refinery = PlaybookRefiner(
            container.playbooks,
            interval=container.settings.refine_interval,
            stale_days=container.settings.stale_days,
        )

    async def learn(self, job: LearningJob, meter: Meter) -> LearningOutcome:
        """Reflect and curate; idempotent for the same job.

        Raises ModelUnavailable, ModelRefused or ModelOutputError when a model returned nothing to
        learn from, and StoreError; nothing has changed then.
        """
        container = self._container
        store, scope = container.playbooks, container.playbook_scope(job.app, job.user)
        once = IdempotentCommit(job.id, lambda: self._is_obsolete(job))
        if await once.is_committed(store, scope):
            return await self._known(job)
        used: dict[str, dict[str, TokenUse]] = {}
        try:
            lesson = await self._lesson(job, once, _metered(self._roles, meter, used))
        except _Unanswered as unanswered:
            raise unanswered.error from unanswered
        finally:
            await container.spending.note(job.key, job.turn, used)
        if lesson is None:
            return OBSOLETE
        if lesson.reflected.value is None:
            raise ModelOutputError("; ".join(lesson.warnings) or "reflector: no usable reply")
        return _outcome_of(lesson)

    async def _known(self, job: LearningJob) -> LearningOutcome:
        """Finish a job that was committed; its worker may have died before recording that."""
        try:
            await mark_learned(self._container, job.key, job.turn, job.detail)
        except NotFoundError:
            return OBSOLETE
        return KNOWN

    async def _lesson(
        self, job: LearningJob, once: IdempotentCommit, roles: Roles
    ) -> LearningResult | None:
        """The whole cycle; None when the turn no longer exists."""
        container, settings = self._container, self._container.settings
        if job.kind is LearningKind.FEEDBACK:
            try:
                return await learn_from_feedback(
                    container, job.key, job.turn, job.detail, roles=roles
                )
            except NotFoundError:
                return None
        outcome = await self._outcome(job)
        if outcome is None:
            return None
        scope = container.playbook_scope(job.app, job.user)
        context = curation_context(
            outcome,
            settings.limits,
            at=container.clock.now(),
            user=job.user,
            session=job.session,
            shared=scope.user is None,
            stale_after=stale_time(settings.stale_days),
        )
        lesson = await learn(
            outcome,
            store=container.playbooks,
            scope=scope,
            roles=roles,
            context=context,
            max_rounds=settings.reflector_max_rounds,
            once=once,
        )
        if outcome.feedback and lesson.reflected.value is not None:
            await mark_learned(container, job.key, job.turn)
        await self._refinery.after_turn(scope, context)
        return lesson

    async def _is_obsolete(self, job: LearningJob) -> bool:
        return await self._answered(job.key, job.turn, job.invocation_id) is None

    async def _outcome(self, job: LearningJob) -> TurnOutcome | None:
        """The turn as input to learning; None when it was undone or deleted."""
        turn = await self._answered(job.key, job.turn, job.invocation_id)
        if turn is None:
            return None
        entry = await self._container.journal.get(job.key, turn.ccs_version)
        outcome = None if entry is None else outcome_of(turn, entry.state)
        if outcome is None:
            return None
        return replace(outcome, previous=await self._answered(job.key, job.turn - 1))

    async def _answered(
        self, key: SessionKey, number: int, invocation_id: str | None = None
    ) -> Interaction | None:
        """The answered run of a turn, of that invocation if one is named; None if undone."""
        page = await self._container.evidence.list(key, limit=_TURNS_BACK, before_turn=number + 1)
        for turn in page:
            if turn.turn == number and turn.outcome is Outcome.ANSWERED:
                return turn if invocation_id in {None, turn.invocation_id} else None
        return None


class _Unanswered(Exception):
    """Carries a model error past `structured_call`, which would continue without a reply."""

    def __init__(self, error: ModelError) -> None:
        super().__init__(str(error))
        self.error = error


class _Metered:
    """A Completion that counts its tokens and never turns a failure into an empty lesson."""

    def __init__(self, inner: Completion, meter: Meter) -> None:
        self._inner, self._meter = Metered(inner), meter
        self.used = self._inner.used

    async def complete(self, prompt: Prompt, user_text: str) -> Reply:
        """One call. A job can be retried, so a model that did not answer ends this run."""
        try:
            reply = await self._inner.complete(prompt, user_text)
        except ModelError as error:
            raise _Unanswered(error) from error
        self._meter.tokens += reply.use.total
        return reply


def _metered(roles: Roles, meter: Meter, used: dict[str, dict[str, TokenUse]]) -> Roles:
    """The roles, counted by the `meter` and, by stage and model, in `used`."""
    reflector, curator = _Metered(roles.reflector, meter), _Metered(roles.curator, meter)
    used |= {"reflector": reflector.used, "curator": curator.used}
    return replace(roles, reflector=reflector, curator=curator)


def _outcome_of(lesson: LearningResult) -> LearningOutcome:
    if lesson.learned is None:
        return LearningOutcome(outcome="learned")
    ends = [result.status for result in lesson.learned.curated.results]
    return LearningOutcome(
        outcome="learned",
        version=lesson.learned.stored.version,
        applied=ends.count(DeltaStatus.APPLIED),
        held=ends.count(DeltaStatus.HELD),
        rejected=ends.count(DeltaStatus.REJECTED),
        left=len(lesson.learned.curated.departures),
    )
