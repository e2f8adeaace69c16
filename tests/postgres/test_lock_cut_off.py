"""The lock's connection is cut on one side: a turn keeps its session, or learns that it lost it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest

from core.adapters.open_stores import Stores
from core.adapters.postgres_database import PostgresDatabase
from core.adapters.postgres_journal import PostgresJournal
from core.adapters.postgres_lock import PostgresSessionLock
from core.errors import ConflictError, SessionBusyError
from tests.contract.values import KEY, OTHER_SESSION, entry
from tests.fakes.postgres_server import PostgresServer
from tests.fakes.stalling_proxy import StallingProxy

_LOCKS = "SELECT DISTINCT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"


@dataclass
class Process:
    """What a process has of the database; its journal takes another way than its locks."""

    lock: PostgresSessionLock
    journal: PostgresJournal


@pytest.fixture
async def far(url: str, proxy: StallingProxy) -> AsyncIterator[Process]:
    """A process that reaches its locks through the proxy."""
    locks, rows = PostgresDatabase(proxy.url(url), patience_s=1), PostgresDatabase(url)
    lock = PostgresSessionLock(locks, patience_s=5, beat_s=0.05)
    yield Process(lock, PostgresJournal(rows, confirm=lock.confirm))
    proxy.recover()
    await lock.close()
    await locks.close()
    await rows.close()


async def holders(postgres: PostgresServer, url: str) -> set[int]:
    rows = await asyncio.to_thread(postgres.execute, _LOCKS, url=url)
    return {pid for (pid,) in rows}


async def test_a_turn_keeps_its_session_when_its_lock_connection_goes_silent(
    postgres: PostgresServer, url: str, proxy: StallingProxy, far: Process, stores: Stores
) -> None:
    moved = asyncio.Event()

    async def contend() -> None:
        while not moved.is_set():
            with pytest.raises(SessionBusyError):
                async with stores.lock.hold(KEY, wait_s=0):
                    pytest.fail("two processes hold the session")

    async with far.lock.hold(KEY, wait_s=0), far.lock.hold(OTHER_SESSION, wait_s=0):
        before = await holders(postgres, url)
        assert len(before) == 1
        contending = asyncio.create_task(contend())
        proxy.stall()
        for _ in range(2_000):
            now = await holders(postgres, url)
            if contending.done() or (now and not now & before):
                break
        else:
            pytest.fail("the locks were not moved")
        moved.set()
        await contending
        for key in (KEY, OTHER_SESSION):
            await far.journal.append(key, entry(1), expected_version=0)
            with pytest.raises(SessionBusyError):
                async with stores.lock.hold(key, wait_s=0):
                    pytest.fail("it was given away")
    async with stores.lock.hold(KEY, wait_s=0), stores.lock.hold(OTHER_SESSION, wait_s=0):
        pass


async def test_turns_that_take_turns_at_looking_notice_a_silent_connection(
    postgres: PostgresServer, url: str, proxy: StallingProxy, far: Process
) -> None:
    keys = [KEY._replace(session=f"s-{number}") for number in range(5)]
    async with AsyncExitStack() as turns:
        for key in keys:
            await turns.enter_async_context(far.lock.hold(key, wait_s=0))
            # So that there is never a beat in which none of them looks.
            await asyncio.sleep(0.01)
        before = await holders(postgres, url)
        proxy.stall()
        for _ in range(2_000):
            now = await holders(postgres, url)
            if now and not now & before:
                break
        else:
            pytest.fail("the locks were not moved")
        for key in keys:
            await far.journal.append(key, entry(1), expected_version=0)


async def test_a_turn_that_lost_its_session_learns_it_before_it_commits(
    postgres: PostgresServer, url: str, proxy: StallingProxy, far: Process, stores: Stores
) -> None:
    async with far.lock.hold(KEY, wait_s=0):
        await far.journal.append(KEY, entry(1), expected_version=0)
        proxy.stall(dead=True)
        # Now the server takes the process for dead, which goes on all the same.
        proxy.tell_the_server()
        async with stores.lock.hold(KEY, wait_s=30):
            proxy.recover()
            with pytest.raises(ConflictError, match="'s-1' was taken over by another process"):
                await far.journal.append(KEY, entry(2, "stale"), expected_version=1)
            await stores.journal.append(KEY, entry(2, "good"), expected_version=1)
    assert await stores.journal.head(KEY) == entry(2, "good")
    async with far.lock.hold(KEY, wait_s=0):
        await far.journal.append(KEY, entry(3), expected_version=2)


async def test_a_turn_that_ends_while_it_is_cut_off_leaves_no_lock_behind(
    proxy: StallingProxy, far: Process, stores: Stores
) -> None:
    async with far.lock.hold(KEY, wait_s=0):
        proxy.stall()
    async with stores.lock.hold(KEY, wait_s=0):
        pass
    async with far.lock.hold(KEY, wait_s=0):
        pass


async def test_two_processes_never_hold_a_session_together_however_often_one_is_cut_off(
    proxy: StallingProxy, far: Process, stores: Stores
) -> None:
    inside = 0
    turns = 6

    async def talk(process: Process | Stores, *, cut: bool) -> None:
        nonlocal inside
        for number in range(turns):
            async with process.lock.hold(KEY, wait_s=60):
                inside += 1
                assert inside == 1
                if cut and number % 2:
                    proxy.stall()
                head = await process.journal.head(KEY)
                version = head.state.version if head else 0
                await asyncio.sleep(0.02)
                await process.journal.append(KEY, entry(version + 1), expected_version=version)
                assert inside == 1
                inside -= 1

    await asyncio.gather(talk(far, cut=True), talk(stores, cut=False))
    head = await stores.journal.head(KEY)
    assert head is not None
    assert head.state.version == 2 * turns
