"""PostgreSQL goes away and comes back: jobs wait, and are done."""

from pathlib import Path

import pytest

from acc_ace.config import Settings
from acc_ace.core.schemas.learning_job import JobState
from acc_ace.errors import StoreError
from acc_ace.ext.background.create_learning_queue import open_learning_queue
from tests.ext.background.conftest import QUICK
from tests.ext.background.learners import settled
from tests.ext.background.test_killed_workers import opened, seed, worker
from tests.fakes.postgres_server import OwnPostgresServer


def settings_of(url: str, folder: Path) -> Settings:
    return Settings(
        learning="background",
        store="postgres",
        database_url=url,
        database_wait_s=60,
        data_dir=folder,
        background={**QUICK, "tries": 20},
    )


@pytest.mark.soak
async def test_jobs_outlive_a_restart_of_the_database(
    running: OwnPostgresServer, tmp_path: Path
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
