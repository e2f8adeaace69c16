"""A write of sessions that is cut off is undone, and keeps nobody from the file."""

import asyncio
import logging
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from google.adk.events import Event, EventActions
from google.genai import types

from core.adapters.adk_session import BoundedSessionService
from core.adapters.sqlite_scrub import scrub_connected
from core.adapters.sqlite_session_file import SessionFile
from core.errors import StoreError

MINE: dict[str, Any] = {"app_name": "shop", "user_id": "aiko", "session_id": "s-1"}
OTHER: dict[str, Any] = {"app_name": "shop", "user_id": "ben", "session_id": "s-2"}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[BoundedSessionService]:
    opened = BoundedSessionService(tmp_path / "sessions.db", wait_s=0.01)
    yield opened
    await opened.close()


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Another process; it does not wait for locks."""
    where = tmp_path / "sessions.db"
    with closing(sqlite3.connect(where, timeout=0, isolation_level=None)) as connection:
        yield connection


class Gate(logging.Handler):
    """Holds the driver's thread before a statement, which it takes from its queue."""

    def __init__(self, statement: str) -> None:
        super().__init__(logging.DEBUG)
        self._statement, self._loop = statement, asyncio.get_running_loop()
        self.reached, self.passed = asyncio.Event(), asyncio.Event()
        self._may_pass = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if self._statement not in message:
            return
        if message.startswith("executing"):
            self._loop.call_soon_threadsafe(self.reached.set)
            self._may_pass.wait()
        else:
            self._loop.call_soon_threadsafe(self.passed.set)

    def open(self) -> None:
        self._may_pass.set()


@contextmanager
def gate_before(statement: str) -> Iterator[Gate]:
    """The driver tells in its log what it is about to run."""
    gate, driver = Gate(statement), logging.getLogger("aiosqlite")
    level = driver.level
    driver.addHandler(gate)
    driver.setLevel(logging.DEBUG)
    try:
        yield gate
    finally:
        gate.open()
        driver.setLevel(level)
        driver.removeHandler(gate)


def words(invocation: str, **state: Any) -> Event:
    return Event(
        author="user",
        invocation_id=invocation,
        content=types.UserContent("Hello."),
        actions=EventActions(state_delta=state),
    )


@pytest.mark.parametrize("cancels", [1, 3])
@pytest.mark.parametrize("statement", ["INSERT INTO user_states", "INSERT INTO events"])
async def test_a_write_that_is_cancelled_before_it_begins_is_wholly_undone(
    service: BoundedSessionService, elsewhere: sqlite3.Connection, cancels: int, statement: str
) -> None:
    mine = await service.create_session(**MINE)
    other = await service.create_session(**OTHER)
    with gate_before(statement) as gate:
        write = asyncio.create_task(
            service.append_event(mine, words("cut off", **{"user:size": "large"}))
        )
        await gate.reached.wait()
        for _ in range(cancels):
            write.cancel()
            await asyncio.sleep(0)
        gate.open()
        with pytest.raises(asyncio.CancelledError):
            await write
    # The next call of this process neither commits what was cut off nor is rolled back with it.
    await service.append_event(other, words("next"))
    assert await service.get_user_state(app_name="shop", user_id="aiko") == {}
    assert elsewhere.execute("SELECT invocation_id FROM events").fetchall() == [("next",)]


async def test_a_write_ends_under_a_scope_that_cancels_it_again_and_again(
    service: BoundedSessionService, elsewhere: sqlite3.Connection
) -> None:
    mine = await service.create_session(**MINE)
    other = await service.create_session(**OTHER)

    async def write() -> None:
        await service.append_event(mine, words("cut off"))

    with gate_before("INSERT INTO events") as gate:
        async with anyio.create_task_group() as group:
            group.start_soon(write)
            await gate.reached.wait()
            group.cancel_scope.cancel()
            gate.open()
    await service.append_event(other, words("next"))
    assert elsewhere.execute("SELECT invocation_id FROM events").fetchall() == [("next",)]


async def test_a_cancelled_deletion_leaves_the_connection_as_patient_as_it_was(
    tmp_path: Path,
) -> None:
    file = SessionFile(tmp_path / "sessions.db", "CREATE TABLE IF NOT EXISTS notes (text TEXT)")
    async with file.use() as connection:
        before = list(await connection.execute_fetchall("PRAGMA busy_timeout"))
    with gate_before("try_scrub") as gate:
        scrub = asyncio.create_task(scrub_connected(file.use, file.path, wait_s=0))
        await gate.reached.wait()
        scrub.cancel()
        await asyncio.sleep(0)
        gate.open()
        await asyncio.wait({scrub})
    async with file.use() as connection:
        after = list(await connection.execute_fetchall("PRAGMA busy_timeout"))
    assert [tuple(row) for row in after] == [tuple(row) for row in before]
    await file.close()


async def test_a_read_that_was_cut_off_keeps_no_later_call_from_writing(
    tmp_path: Path, elsewhere: sqlite3.Connection
) -> None:
    file = SessionFile(tmp_path / "sessions.db", "CREATE TABLE IF NOT EXISTS notes (text TEXT)")
    left = []
    with suppress(asyncio.CancelledError):
        async with file.use() as connection:
            await connection.executemany("INSERT INTO notes VALUES (?)", [("one",), ("two",)])
            await connection.commit()
            left.append(await connection.execute("SELECT text FROM notes"))
            await left[0].fetchone()
            raise asyncio.CancelledError
    elsewhere.execute("INSERT INTO notes VALUES ('theirs')")
    async with file.use() as connection:
        await connection.execute("INSERT INTO notes VALUES ('ours')")
        await connection.commit()
    texts = elsewhere.execute("SELECT text FROM notes ORDER BY rowid").fetchall()
    assert texts == [("one",), ("two",), ("theirs",), ("ours",)]
    await file.close()


async def test_an_idle_process_keeps_nobody_out_after_a_cancelled_write(
    service: BoundedSessionService, elsewhere: sqlite3.Connection
) -> None:
    session = await service.create_session(**MINE)
    with gate_before("INSERT INTO events") as gate:
        write = asyncio.create_task(service.append_event(session, words("cut off")))
        await gate.reached.wait()
        write.cancel()
        await asyncio.sleep(0)
        gate.open()
        await asyncio.wait({write})
        await gate.passed.wait()
    elsewhere.execute("BEGIN IMMEDIATE")
    elsewhere.execute("ROLLBACK")


async def test_who_waits_too_long_is_told_of_the_file_not_of_a_session(
    service: BoundedSessionService, elsewhere: sqlite3.Connection
) -> None:
    mine = await service.create_session(**MINE)
    other = await service.create_session(**OTHER)
    with gate_before("INSERT INTO events") as gate:
        first = asyncio.create_task(service.append_event(mine, words("first")))
        await gate.reached.wait()
        with pytest.raises(StoreError, match=r"sessions\.db is locked by another process"):
            await service.append_event(other, words("second"))
        gate.open()
        await first
    assert elsewhere.execute("SELECT invocation_id FROM events").fetchall() == [("first",)]
