"""A worker that is killed with -9 loses no job, and none is applied twice."""

import asyncio
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from acc_ace.core.schemas.learning_job import JobState, LearningJob
from acc_ace.ext.background.create_learning_queue import open_learning_queue
from acc_ace.storage.create_stores import Stores, create_stores
from acc_ace.turn.learning_queue import LearningQueue
from config import Settings
from schemas.base import PlaybookScope, SessionKey
from tests.contract.values import entry, interaction
from tests.e2e.processes import ROOT, environment
from tests.ext.background.conftest import Make
from tests.fakes.clock import FixedClock

JOBS_A_KILL = 4
KEY = SessionKey("acc_ace", "ops", "killed")
SUBJECTS = ("boats", "trains", "violins", "volcanoes", "bread", "glaciers", "moths", "lasers")
PLACES = ("Oslo", "Lima", "Kyoto", "Cairo", "Perth", "Quebec", "Tunis", "Hanoi", "Riga", "Accra")
VERBS = ("paint", "count", "repair", "weigh", "photograph")


async def test_two_workers_that_are_killed_lose_no_lesson_and_teach_none_twice(
    make_sqlite: Make,
) -> None:
    await kill_workers(make_sqlite, 2)


@pytest.mark.soak
async def test_no_lesson_is_lost_or_learnt_twice_by_workers_that_are_killed(make: Make) -> None:
    await kill_workers(make, 20)


async def kill_workers(make: Make, kills: int) -> None:
    settings, rng = make(tries=20, workers=3), random.Random(5)
    async with opened(settings) as (stores, queue):
        turns, killed_at_work = 0, 0
        for _ in range(kills):
            await seed(stores, queue, first=turns + 1, count=JOBS_A_KILL)
            turns += JOBS_A_KILL
            with worker(settings) as child:
                assert child.stdout is not None
                first = child.stdout.readline()  # Its first job, so it is at work.
                await asyncio.sleep(rng.uniform(0.0, 0.15))
                child.kill()
                rest = child.stdout.read().splitlines()
            killed_at_work += bool(first.strip()) and "idle" not in rest
        with worker(settings) as child:
            output, _ = child.communicate(timeout=120)
            assert output.splitlines()[-1:] == ["idle"]

        jobs = await queue.list(limit=1_000)
        assert Counter(job.state for job in jobs) == {JobState.DONE: turns}
        scope = PlaybookScope(KEY.app)
        records = await stores.playbooks.deltas(scope, limit=10_000)
        assert Counter(record.job for record in records) == {job.id: 1 for job in jobs}
        current = await stores.playbooks.load(scope)
        assert current.playbook == await stores.playbooks.replay(scope)
        assert killed_at_work >= kills // 2, "the workers were hardly ever killed at work"


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[tuple[Stores, LearningQueue]]:
    stores, queue = create_stores(settings, FixedClock()), open_learning_queue(settings)
    try:
        yield stores, queue
    finally:
        await queue.close()
        await stores.close()


async def seed(stores: Stores, queue: LearningQueue, *, first: int, count: int) -> None:
    """Answered turns that are still to be learnt from; no two say nearly the same."""
    for number in range(first, first + count):
        await stores.journal.append(KEY, entry(number), expected_version=number - 1)
        reported = interaction(number, topic(number), ccs_version=number)
        await stores.evidence.record(KEY, reported)
        assert await queue.submit(
            LearningJob(
                app=KEY.app,
                user=KEY.user,
                session=KEY.session,
                turn=number,
                invocation_id=reported.invocation_id,
                base_version=0,
            )
        )


def topic(number: int) -> str:
    verb = VERBS[number % len(VERBS)]
    place = PLACES[number // len(VERBS) % len(PLACES)]
    return f"{verb} {SUBJECTS[number % len(SUBJECTS)]} in {place}"


@contextmanager
def worker(settings: Settings) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tests.ext.background.worker_child"],
        cwd=ROOT,
        env=environment(settings.data_dir, **variables(settings)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def variables(settings: Settings) -> dict[str, str]:
    """The settings as a child reads them."""
    bounds = settings.background.model_dump(exclude_defaults=True)
    url = settings.database_url
    return {
        "ACC_ACE_LEARNING": "background",
        "ACC_ACE_STORE": settings.store,
        **({"ACC_ACE_DATABASE_URL": url.get_secret_value()} if url else {}),
        **{f"ACC_ACE_BACKGROUND__{name.upper()}": str(value) for name, value in bounds.items()},
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(ROOT) / "agents")]),
    }
