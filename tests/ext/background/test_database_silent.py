"""PostgreSQL goes silent for background learning: turns end, and what can be learnt is learnt."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest

from acc_ace import Conversation, build_container
from acc_ace.core.schemas.learning_job import JobState, LearningJob, QueuedLearning
from acc_ace.errors import StoreError
from acc_ace.ext.background.create_learning_queue import open_learning_queue
from acc_ace.ext.background.dbos_database import dbos_database
from acc_ace.ext.background.dbos_queue import DbosLearningQueue
from acc_ace.turn.learning_queue import LearningQueue
from config import ROLES, Settings
from tests.ext.background.conftest import QUICK
from tests.ext.background.learners import KEY, conversation, one_lesson_a_turn, queue_of, settled
from tests.fakes.postgres_server import PostgresServer
from tests.fakes.stalling_proxy import StallingProxy, stalling_proxy

NEVER_S = 90.0
"""What waits that long for a silent server hangs."""

MANY = 40
"""More than an event loop has threads of its own."""


@pytest.fixture
def proxy(postgres: PostgresServer) -> Iterator[StallingProxy]:
    """A proxy before the server."""
    with stalling_proxy(postgres.port) as running:
        yield running


@pytest.fixture
def settings(postgres: PostgresServer, proxy: StallingProxy, tmp_path: Path) -> Settings:
    """Settings of a process that reaches the server through the proxy."""
    return Settings(
        learning="background",
        store="postgres",
        database_url=proxy.url(postgres.new_database()),
        database_wait_s=2,
        data_dir=tmp_path,
        background=QUICK,
    )


@pytest.fixture
async def queue(settings: Settings, proxy: StallingProxy) -> AsyncIterator[LearningQueue]:
    """The jobs, connected."""
    opened = open_learning_queue(settings)
    assert not any((await opened.counts()).values())
    yield opened
    proxy.close()
    await opened.close()


def job(turn: int) -> LearningJob:
    return LearningJob(
        app=KEY.app,
        user=KEY.user,
        session=KEY.session,
        turn=turn,
        invocation_id=f"e-{turn}",
        base_version=0,
    )


@pytest.mark.soak
async def test_turns_end_and_are_learnt_from_when_the_connections_went_silent(
    settings: Settings, proxy: StallingProxy
) -> None:
    async with conversation(settings) as talk:
        await talk.turn(KEY, "db-01 is down.")
        await settled(queue_of(talk.container), jobs=1)
        proxy.stall()
        try:
            async with asyncio.timeout(NEVER_S):
                reports = await asyncio.gather(
                    *(
                        talk.turn(KEY._replace(session=f"other-{number}"), "db-02 is down.")
                        for number in range(8)
                    )
                )
                jobs = await settled(queue_of(talk.container), jobs=9)
        except TimeoutError:
            proxy.close()  # So that threads that wait for ever get an error, and end.
            raise
    assert [report.warnings for report in reports] == [[]] * 8
    assert {job.state for job in jobs} == {JobState.DONE}


class AwayAtFirst(DbosLearningQueue):
    """Cannot read the first job that is asked for."""

    asked = 0

    async def get(self, job_id: str) -> QueuedLearning:
        self.asked += 1
        if self.asked == 1:
            raise StoreError("the jobs cannot be reached: no answer in 5 s")
        return await super().get(job_id)


@pytest.mark.soak
async def test_a_job_that_cannot_be_read_as_it_begins_is_done_later(settings: Settings) -> None:
    container = build_container(settings)
    jobs = AwayAtFirst(dbos_database(settings), settings.background, container.clock)
    talk = Conversation(
        dataclasses.replace(container, learning=jobs),
        models=dict.fromkeys(ROLES, one_lesson_a_turn()),
    )
    await talk.turn(KEY, "db-01 is down.")
    (done,) = await settled(jobs, jobs=1)
    assert (jobs.asked, done.state) == (2, JobState.DONE)
    await talk.close()
    await jobs.close()


@pytest.mark.soak
async def test_jobs_of_a_server_that_went_silent_are_refused_and_hold_up_nothing_else(
    queue: LearningQueue, settings: Settings, proxy: StallingProxy
) -> None:
    assert settings.database_url is not None
    database = settings.database_url.get_secret_value().rpartition("/")[2]
    proxy.stall(dead=True)
    submitted = [asyncio.create_task(queue.submit(job(turn))) for turn in range(1, MANY)]
    async with asyncio.timeout(NEVER_S):
        await asyncio.sleep(0)
        assert await asyncio.to_thread(lambda: "a thread of the loop") == "a thread of the loop"
        results = await asyncio.gather(*submitted, return_exceptions=True)
    assert {type(result) for result in results} == {StoreError}
    reported = " ".join(map(str, results))
    assert (
        f"schema acc_ace_jobs of database {database} at 127.0.0.1 cannot be reached: " in reported
    )
    assert "ACC_ACE_DATABASE_WAIT_S" in reported


@pytest.mark.soak
async def test_a_job_that_was_refused_is_not_kept_later_and_may_be_submitted_again(
    queue: LearningQueue, settings: Settings
) -> None:
    assert settings.database_url is not None
    with psycopg.connect(settings.database_url.get_secret_value()) as other:
        other.execute("LOCK TABLE acc_ace_jobs.workflow_status IN ACCESS EXCLUSIVE MODE")
        async with asyncio.timeout(NEVER_S):
            with pytest.raises(StoreError, match="ACC_ACE_DATABASE_WAIT_S"):
                await queue.submit(job(1))
    await queue.close()  # Waits for what is still under way.
    again = open_learning_queue(settings)
    assert not await again.list()
    assert await again.submit(job(1)) is True
    assert await again.submit(job(1)) is False
    assert [kept.id for kept in await again.list()] == [job(1).id]
    await again.close()


async def test_jobs_are_kept_again_when_the_server_is_back(
    queue: LearningQueue, proxy: StallingProxy
) -> None:
    proxy.stall(dead=True)
    async with asyncio.timeout(NEVER_S):
        with pytest.raises(StoreError):
            await queue.submit(job(1))
        proxy.recover()
        assert await queue.submit(job(1)) is True
