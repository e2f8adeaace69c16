"""A process that does learning jobs over the stores of its environment, until it is killed.

    python -m tests.ext.background.worker_child

It prints the id of each job that it begins, and `idle` when none is left. ADK is not imported,
so that a test can start and kill many of them.
"""

import asyncio
import json
from contextlib import suppress

from acc_ace import Container
from acc_ace.adk.artifact_services import open_artifacts
from acc_ace.adk.turn_parts import TurnParts
from acc_ace.clock import SystemClock
from acc_ace.core.schemas.learning_job import JobState, LearningJob, LearningOutcome
from acc_ace.core.text.prompt import Prompt
from acc_ace.errors import StoreError
from acc_ace.ext.background.create_learning_queue import open_learning_queue, open_learning_worker
from acc_ace.ext.background.job_execution import Learner
from acc_ace.ext.background.learning_budget import Meter
from acc_ace.models.prices import load_prices
from acc_ace.storage.create_stores import create_stores
from acc_ace.turn.learning_step import Roles
from acc_ace.turn.spending import Spending
from acc_ace.turn.structured_call import Reply, load_prompts
from config import load_settings
from schemas.report import TokenUse
from tests.fakes.default_replies import read_tagged

_THINKS_S = 0.02


class Reflector:
    """Has one insight, after a while."""

    async def complete(self, prompt: Prompt, user_text: str) -> Reply:
        """It names x_t."""
        await asyncio.sleep(_THINKS_S)
        return _reply({"key_insight": _said(user_text)})


class Curator:
    """Adds a lesson that names x_t."""

    async def complete(self, prompt: Prompt, user_text: str) -> Reply:
        """One ADD."""
        await asyncio.sleep(_THINKS_S)
        content = f"Remember what was said about {_said(user_text)}"
        return _reply({"operations": [{"type": "ADD", "section": "lessons", "content": content}]})


def container() -> Container:
    """The stores of the environment, without any model."""
    settings, clock = load_settings(), SystemClock()
    stores = create_stores(settings, clock)
    return Container(
        settings=settings,
        clock=clock,
        artifacts=stores.artifacts,
        evidence=stores.evidence,
        journal=stores.journal,
        playbooks=stores.playbooks,
        lock=stores.lock,
        directory=stores.directory,
        database=stores.database,
        unit_of_work=stores.unit_of_work,
        tool_starts=stores.tool_starts,
        user_rules=stores.user_rules,
        ccm_records=stores.ccm_records,
        spending=Spending(stores.spending, load_prices(), clock, ceiling=None),
        traces=stores.traces,
        erasure=stores.erasure,
        files=open_artifacts(settings),
        close=stores.close,
        parts=TurnParts(),
        learning=open_learning_queue(settings),
    )


async def work() -> None:
    """Do what there is to do."""
    opened, prompts = container(), load_prompts()
    learner = Learner(
        opened,
        Roles(
            reflector=Reflector(),
            reflector_prompt=prompts.reflector,
            curator=Curator(),
            curator_prompt=prompts.curator,
        ),
    )

    async def learn(job: LearningJob, meter: Meter) -> LearningOutcome:
        print(job.id, flush=True)
        return await learner.learn(job, meter)

    async def nothing() -> None:
        return None

    queue = opened.learning
    assert queue is not None
    worker = open_learning_worker(opened, learn, on_stop=nothing)
    worker.start()
    while True:
        with suppress(StoreError):  # The database may be away for a while.
            counts = await queue.counts()
            if not counts[JobState.WAITING] + counts[JobState.RUNNING]:
                break
        await asyncio.sleep(0.1)
    print("idle", flush=True)
    await worker.stop(5.0)
    await queue.close()
    await opened.close()


def _said(user_text: str) -> str:
    return str(read_tagged(user_text)["current_input"]["text"])


def _reply(value: object) -> Reply:
    use = TokenUse(input=10, output=5, calls=1)
    return Reply(text=json.dumps(value), model="scripted", use=use)


if __name__ == "__main__":
    asyncio.run(work())
