"""Several processes on one database: one turn of a session at a time, whoever dies."""

import asyncio
from pathlib import Path

import pytest

from acc_ace import build_container
from acc_ace.conversation import APP_NAME
from acc_ace.errors import SessionBusyError
from acc_ace.storage.create_stores import Stores
from acc_ace.storage.sql_database import VERSION
from config import Settings
from schemas.base import SessionKey
from schemas.limits import Limits
from tests.contract.values import KEY
from tests.durability.processes import assert_whole, ended_well, output_of, talker
from tests.durability.talker import conversation_of
from tests.ext.postgres.conftest import open_for
from tests.ext.postgres.waiting import SESSION_LOCKS
from tests.fakes.postgres_server import PostgresServer

OPS = SessionKey(APP_NAME, "ops", "s-1")


async def test_another_process_waits_for_the_session(url: str, stores: Stores) -> None:
    # Two sets of stores share nothing but the database, as two processes do.
    other = open_for(url)
    async with stores.lock.hold(KEY, wait_s=0):
        with pytest.raises(SessionBusyError, match="'s-1' is still busy"):
            async with other.lock.hold(KEY, wait_s=0.02):
                pytest.fail("two turns at once")
        waiting = asyncio.create_task(_hold_once(other))
        await asyncio.sleep(0.05)
        assert not waiting.done()
    await waiting
    async with stores.lock.hold(KEY, wait_s=0):
        pass
    await other.close()


async def _hold_once(stores: Stores) -> None:
    async with stores.lock.hold(KEY, wait_s=30):
        pass


async def test_many_sessions_are_held_over_one_connection(
    url: str, stores: Stores, postgres: PostgresServer
) -> None:
    keys = [SessionKey("shop", "aiko", f"s-{number}") for number in range(50)]
    async with asyncio.TaskGroup() as group, _all_held(stores, keys):
        group.create_task(_hold_once(stores))
        held = postgres.execute(SESSION_LOCKS, url=url)
        assert len({pid for pid, *_ in held}) == 1
        assert len(held) >= 50


class _all_held:  # noqa: N801 - reads as a phrase where it is used
    def __init__(self, stores: Stores, keys: list[SessionKey]) -> None:
        self._holds = [stores.lock.hold(key, wait_s=0) for key in keys]

    async def __aenter__(self) -> None:
        for hold in self._holds:
            await hold.__aenter__()

    async def __aexit__(self, *error: object) -> None:
        for hold in self._holds:
            await hold.__aexit__(None, None, None)


async def test_a_second_turn_on_a_busy_session_is_refused_before_any_model_runs(
    url: str, tmp_path: Path
) -> None:
    settings = Settings(store="postgres", database_url=url, limits=Limits(turn_wait_s=0.05))
    conversation = conversation_of(build_container(settings))
    with talker(url, tmp_path, "ops", 0, "s-1") as first:
        assert output_of(first).readline() == "thinking\n"
        with pytest.raises(SessionBusyError):
            await conversation.turn(OPS, "Me too.")
    await conversation.close()


async def test_a_process_killed_in_mid_turn_leaves_the_session_to_another(
    url: str, tmp_path: Path, stores: Stores
) -> None:
    with talker(url, tmp_path, "ops", 3, "s-1") as first:
        ended_well(first)
    await assert_whole(stores, OPS, 3)
    with talker(url, tmp_path, "ops", 0, "s-1") as second:
        assert output_of(second).readline() == "thinking\n"
        second.kill()
        second.wait()
        conversation = conversation_of(
            build_container(Settings(store="postgres", database_url=url))
        )
        report = await conversation.turn(OPS, "Which rules hold?")
    assert [constraint.text for constraint in report.constraints] == [
        "No restarts during business hours."
    ]
    # Nothing of the killed turn was written.
    assert report.turn == 4
    await conversation.close()


async def test_many_processes_migrate_at_once(url: str, stores: Stores) -> None:
    others = [open_for(url) for _ in range(6)]
    heads = await asyncio.gather(*(other.journal.head(KEY) for other in others))
    assert heads == [None] * 6
    for other in others:
        await other.close()


@pytest.mark.soak
async def test_processes_that_start_together_find_one_schema(
    postgres: PostgresServer, url: str, tmp_path: Path
) -> None:
    with (
        talker(url, tmp_path, "ops", 1) as one,
        talker(url, tmp_path, "ops", 1) as two,
        talker(url, tmp_path, "ops", 1) as three,
    ):
        ended_well(one, two, three)
    rows = postgres.execute("SELECT version FROM acc_ace.migrations", url=url)
    assert rows == [(VERSION,)]
