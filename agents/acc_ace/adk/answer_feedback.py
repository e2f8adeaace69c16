"""Learn from feedback on an answer after its turn: thumbs, rewards, ground truth, comments."""

from collections.abc import Mapping

from google.adk.models import BaseLlm

from acc_ace.adk.structured_agent import DirectCompletion
from acc_ace.config import Role
from acc_ace.container import Container
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.delta import DeltaBatch
from acc_ace.core.schemas.learning_job import JobState, LearningJob
from acc_ace.core.schemas.reflection import Judgement, Reflection
from acc_ace.core.schemas.report import FeedbackReport, ReportedDelta
from acc_ace.turn.feedback_record import feedback_job, learn_from_feedback, store_feedback
from acc_ace.turn.learning_step import LearningResult, Roles
from acc_ace.turn.structured_call import load_prompts


class FeedbackLearner:
    """Stores feedback with its turn; Reflector and Curator learn from it."""

    def __init__(
        self, container: Container, *, models: Mapping[Role, BaseLlm] | None = None
    ) -> None:
        """Raises ConfigError for a model that cannot be used."""
        self._container = container
        self._models = container.parts.build_models(
            ("reflector", "curator"), container.settings, models
        )
        self._roles = learning_roles(container, *self._models.values())

    async def take(
        self, key: SessionKey, turn: int, judgement: Judgement, *, given_id: str = ""
    ) -> FeedbackReport:
        """Store feedback, and learn from it now, later or never, as the settings say.

        `given_id` is an idempotency key: an id is learnt once.

        Raises NotFoundError, InputError, SessionBusyError, ConflictError or StoreError. What was
        stored stays stored: repeating the call resumes where this one failed.
        """
        record = await store_feedback(self._container, key, turn, judgement, given_id=given_id)
        lesson: LearningResult | None = None
        if self._container.settings.learning == "inline":
            lesson = await learn_from_feedback(
                self._container, key, turn, record.feedback.id, roles=self._roles
            )
            if lesson is not None:
                await self._container.spending.note(key, turn, lesson.used)
        elif not record.feedback.learned:
            await self._learn_later(feedback_job(key, record.interaction, record.feedback))
        scope = self._container.playbook_scope(key.app, key.user)
        stored = await self._container.playbooks.load(scope)
        learned = record.feedback.learned or bool(lesson and lesson.reflected.value is not None)
        return FeedbackReport(
            id=record.feedback.id,
            turn=turn,
            fresh=record.fresh,
            learned=learned,
            deltas=_deltas(lesson),
            left=lesson.learned.curated.departures if lesson and lesson.learned else [],
            playbook_version=stored.version,
            warnings=list(lesson.warnings) if lesson else [],
        )

    async def _learn_later(self, job: LearningJob) -> None:
        """Enqueue the job, unless learning is off; a dead or shed one is retried."""
        queue = self._container.learning
        if queue is None or await queue.submit(job):
            return
        if (await queue.get(job.id)).state in {JobState.DEAD, JobState.SHED}:
            await queue.retry(job.id)

    async def close(self) -> None:
        """Close the models' connections."""
        await self._container.parts.close_models(self._models.values())


def learning_roles(container: Container, reflector: BaseLlm, curator: BaseLlm) -> Roles:
    """Reflector and Curator as `acc_ace.turn.learning_step.learn` calls them."""
    settings, prompts = container.settings, load_prompts()
    return Roles(
        reflector=DirectCompletion(reflector, Reflection, settings.reflector),
        reflector_prompt=prompts.reflector,
        curator=DirectCompletion(curator, DeltaBatch, settings.curator),
        curator_prompt=prompts.curator,
    )


def _deltas(lesson: LearningResult | None) -> list[ReportedDelta]:
    if lesson is None or lesson.learned is None:
        return []
    return [
        ReportedDelta(type=d.type, status=d.status, reason=d.reason, bullet_id=d.bullet_id)
        for d in lesson.learned.curated.results
    ]
