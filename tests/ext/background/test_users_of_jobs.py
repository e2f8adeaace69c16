"""A user whose learning jobs alone are left is found by them."""

import sqlite3
from contextlib import closing

import pytest

from acc_ace.errors import StoreError
from tests.ext.background.conftest import Make
from tests.ext.background.learners import KEY, conversation, queue_of, settled


async def test_the_apps_of_a_users_jobs_are_known_until_they_are_erased(make: Make) -> None:
    async with conversation(make()) as talk:
        await talk.turn(KEY, "db-01 is down.")
        queue = queue_of(talk.container)
        await settled(queue, jobs=1)
        assert await queue.apps(KEY.user) == {KEY.app}
        assert await queue.apps("op") == set()
        assert (await talk.erase_user(KEY.user))[KEY.app]["jobs"] == 1
        assert await queue.apps(KEY.user) == set()


@pytest.mark.soak
async def test_erased_jobs_that_a_backup_still_reads_are_told_and_gone_the_next_time(
    make_sqlite: Make,
) -> None:
    settings = make_sqlite()
    async with conversation(settings) as talk:
        await talk.turn(KEY, "db-01 is down.")
        queue = queue_of(talk.container)
        await settled(queue, jobs=1)
        await talk.stop_learning()
        with closing(sqlite3.connect(settings.data_dir / "jobs.db")) as backup:
            backup.execute("BEGIN")
            backup.execute("SELECT count(*) FROM workflow_status").fetchall()
            with pytest.raises(StoreError, match=r"jobs\.db-wal"):
                await queue.erase(KEY.tenant)
        assert await queue.erase(KEY.tenant) == 0
        for file in settings.data_dir.glob("jobs.db*"):
            assert b"acc_ace/ops" not in file.read_bytes()
