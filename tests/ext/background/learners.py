"""Conversations that learn in the background, and what came of it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from google.adk.models.llm_request import LlmRequest

from acc_ace import Container, build_container
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.core.schemas.learning_job import JobState, QueuedLearning
from acc_ace.turn.learning_queue import LearningQueue
from config import ROLES, Settings
from schemas.base import PlaybookScope, SessionKey
from schemas.playbook import DeltaRecord
from tests.fakes.default_replies import prompt_text, read_tagged
from tests.fakes.scripted_llm import Reply, ScriptedLlm

KEY = SessionKey(APP_NAME, "ops", "s1")
END_S = 60.0


def one_lesson_a_turn() -> ScriptedLlm:
    """A model whose Curator adds one lesson, which tells the input it was learnt from."""
    return ScriptedLlm().on("curator", lesson)


def lesson(request: LlmRequest) -> Reply:
    """An ADD that holds the words of x_t."""
    said = read_tagged(prompt_text(request))["current_input"]["text"]
    content = f"Remember what was said about {said}"
    return {"operations": [{"type": "ADD", "section": "lessons", "content": content}]}


@asynccontextmanager
async def conversation(
    settings: Settings, llm: ScriptedLlm | None = None
) -> AsyncIterator[Conversation]:
    """A conversation of this process; closed as at a shutdown."""
    container = build_container(settings)
    opened = Conversation(container, models=dict.fromkeys(ROLES, llm or one_lesson_a_turn()))
    try:
        yield opened
    finally:
        await opened.close()


def queue_of(container: Container) -> LearningQueue:
    """Its jobs."""
    assert container.learning is not None
    return container.learning


async def settled(queue: LearningQueue, *, jobs: int) -> Sequence[QueuedLearning]:
    """All jobs, when that many have ended one way or the other."""
    ended = (JobState.DONE, JobState.DEAD, JobState.SHED)
    async with asyncio.timeout(END_S):
        while True:
            found = await queue.list(states=ended, limit=1_000)
            if len(found) >= jobs:
                return found
            await asyncio.sleep(0.05)


async def reached(queue: LearningQueue, job_id: str, state: JobState) -> QueuedLearning:
    """A job, when it has come to a state."""
    async with asyncio.timeout(END_S):
        while True:
            found = await queue.get(job_id)
            if found.state is state:
                return found
            await asyncio.sleep(0.05)


async def log(container: Container) -> Sequence[DeltaRecord]:
    """The delta log of the app, oldest first."""
    records = await container.playbooks.deltas(PlaybookScope(APP_NAME), limit=10_000)
    return list(reversed(records))


async def lessons(container: Container) -> list[str]:
    """What the playbook holds."""
    stored = await container.playbooks.load(PlaybookScope(APP_NAME))
    return [bullet.content for bullet in stored.playbook.bullets]
