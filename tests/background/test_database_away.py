"""PostgreSQL goes away and comes back: jobs wait, and are done."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from config import Settings
from core.adapters.open_learning import open_learning_queue
from core.errors import StoreError
from schemas.learning_job import JobState
from tests.background.conftest import QUICK
from tests.background.learners import settled
from tests.background.test_killed_workers import opened, seed, worker
from tests.fakes.postgres_server import PostgresServer


@pytest.fixture
def running(postgres: PostgresServer) -> Iterator[PostgresServer]:
    """The server, running again after a test that ended it."""
    yield postgres
    postgres.stop()
    postgres.start()


def settings_of(url: str, folder: Path) -> Settings:
    return Settings(
        learning="background",
        store="postgres",
        database_url=url,
        database_wait_s=60,
        data_dir=folder,
        background={**QUICK, "tries": 20},
    )


async def test_jobs_outlive_a_restart_of_the_database(
    running: PostgresServer, tmp_path: Path
) -> None:
    settings = settings_of(running.new_database(), tmp_path)
    async with opened(settings) as (stores, queue):
        await seed(stores, queue, first=1, count=20)
    with worker(settings) as child:
        assert child.stdout is not None
        child.stdout.readline()
        running.stop()
        running.start()
        async with opened(settings) as (_, queue):
            jobs = await settled(queue, jobs=20)
    assert {job.state for job in jobs} == {JobState.DONE}


async def test_a_server_that_is_away_is_named(tmp_path: Path) -> None:
    queue = open_learning_queue(
        settings_of("postgresql://nobody:geheim@127.0.0.1:9/nothing", tmp_path)
    )
    with pytest.raises(StoreError, match=r"database nothing at 127\.0\.0\.1") as raised:
        await queue.counts()
    assert "geheim" not in str(raised.value)
    await queue.close()
