"""Jobs whose connection breaks right after the server has committed what became of them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from core.adapters.postgres_database import PostgresDatabase
from core.adapters.postgres_jobs import PostgresJobStore
from schemas.job import Job, JobKind
from tests.contract.values import KEY
from tests.fakes.clock import START
from tests.postgres.conftest import open_for

LATER = START + timedelta(seconds=1)
Meanwhile = Callable[[], Coroutine[Any, Any, object]]


class LostAnswer(PostgresDatabase):
    """Loses the answer to one COMMIT; what others do before it is tried again is `meanwhile`."""

    lose = False
    meanwhile: Meanwhile | None = None

    def _attempt(self, work: Any, begin: str) -> Any:
        result = super()._attempt(work, begin)
        if self.lose:
            self.lose = False
            if self.meanwhile is not None:
                asyncio.run(self.meanwhile())
            raise psycopg.OperationalError("the connection is lost")
        return result


@pytest.fixture
async def database(url: str) -> AsyncIterator[LostAnswer]:
    opened = LostAnswer(url)
    yield opened
    await opened.close()


def job(at: datetime) -> Job:
    return Job.of(JobKind.OFFLOAD, KEY, at=at)


async def claimed(jobs: PostgresJobStore) -> Job:
    await jobs.enqueue(job(START))
    found = await jobs.claim(now=START, lease_s=60)
    assert found is not None
    return found


async def test_a_job_asked_for_again_is_not_lost_with_the_answer(database: LostAnswer) -> None:
    jobs = PostgresJobStore(database)
    done = await claimed(jobs)
    await jobs.enqueue(job(LATER))
    database.lose = True
    await jobs.finish(done.id)
    assert await jobs.find(done.id) == job(LATER)


async def test_a_job_asked_for_again_is_not_given_up_with_the_answer(
    database: LostAnswer,
) -> None:
    jobs = PostgresJobStore(database)
    done = await claimed(jobs)
    await jobs.enqueue(job(LATER))
    database.lose = True
    await jobs.fail(done.id, error="no use", due_at=None)
    assert await jobs.find(done.id) == job(LATER)


async def test_a_job_that_another_process_asks_for_meanwhile_stays(
    database: LostAnswer, url: str
) -> None:
    async def ask() -> None:
        other = open_for(url)
        await other.jobs.enqueue(job(LATER))
        await other.close()

    jobs = PostgresJobStore(database)
    done = await claimed(jobs)
    database.lose, database.meanwhile = True, ask
    await jobs.finish(done.id)
    assert await jobs.find(done.id) == job(LATER)


async def test_a_job_is_finished_although_the_answer_is_lost(database: LostAnswer) -> None:
    jobs = PostgresJobStore(database)
    done = await claimed(jobs)
    database.lose = True
    await jobs.finish(done.id)
    assert await jobs.list(KEY.tenant) == []
