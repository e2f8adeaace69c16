"""Learning after the answer, as durable jobs: submitted by a turn, run alongside later turns.

Reflector and Curator are plain model calls without a session there, as in offline learning.
"""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from google.adk.models import BaseLlm

from acc_ace.adk.answer_feedback import learning_roles
from acc_ace.config import Role
from acc_ace.container import Container
from acc_ace.core.schemas.learning_job import JobState, LearningJob
from acc_ace.errors import StoreError
from acc_ace.ext.background.create_learning_queue import open_learning_worker
from acc_ace.ext.background.job_execution import Learner
from acc_ace.models.factory import build_models, close_models
from acc_ace.turn.learning_queue import LearningQueue
from acc_ace.turn.turn_record import TurnRecord, require

logger = logging.getLogger(__name__)

_LOOK_S = 0.1


class BackgroundLearning:
    """The jobs of this process's turns, and the worker that runs jobs of any process."""

    def __init__(
        self, container: Container, *, models: Mapping[Role, BaseLlm] | None = None
    ) -> None:
        """Raises ConfigError for a model that cannot be used, or without background learning."""
        self._container = container
        opened = build_models(("reflector", "curator"), container.settings, models).values()
        learner = Learner(container, learning_roles(container, *opened))
        self._worker = open_learning_worker(
            container, learner.learn, on_stop=partial(close_models, opened)
        )

    def start(self) -> None:
        """Start running jobs, also those left by other processes. Raises ConfigError."""
        self._worker.start()

    async def submit(self, record: TurnRecord) -> None:
        """Enqueue the job of a turn. Raises StoreError; the turn is then not learnt from."""
        self.start()
        await _queue(self._container).submit(_job_of(record))

    async def pending(self) -> int:
        """Number of waiting and running jobs of all processes. Raises StoreError."""
        counts = await _queue(self._container).counts()
        return counts[JobState.WAITING] + counts[JobState.RUNNING]

    async def finish(self, wait_s: float) -> None:
        """Wait until no job is left, at most `wait_s` seconds."""
        with suppress(TimeoutError, StoreError):
            async with asyncio.timeout(wait_s):
                while True:
                    if not await self.pending():
                        return
                    await asyncio.sleep(_LOOK_S)

    async def stop(self) -> int:
        """Stop; return the jobs left for the next start, -1 if unknown."""
        await self._worker.stop(self._container.settings.limits.shutdown_grace_s)
        try:
            return await self.pending()
        except StoreError as error:
            logger.warning("learning_unknown code=%s", error.code)
            return -1


def _queue(container: Container) -> LearningQueue:
    return require(container.learning, "learning", "background learning")


def _job_of(record: TurnRecord) -> LearningJob:
    return LearningJob(
        app=record.key.app,
        user=record.key.user,
        session=record.key.session,
        turn=record.state.turn,
        invocation_id=record.start.evidence_id,
        base_version=record.playbook.version if record.playbook else 0,
    )
