"""An event loop that a program closes without cancelling its tasks keeps no other from the file."""

import asyncio
import gc
import sqlite3
import subprocess
import sys
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from google.adk.events import Event

from core.adapters.adk_session import BoundedSessionService
from core.adapters.sqlite_session_file import SessionFile
from tests.server.test_cut_off_writes import MINE, OTHER, gate_before, words

SCHEMA = "CREATE TABLE IF NOT EXISTS words (word TEXT)"
STANDS_STILL_S = 20.0
PROGRAM = """
import asyncio, os, pathlib, sys
from acc_ace.conversation import Conversation
from config import Settings
from core.bootstrap import build_container
from schemas.tenancy import SessionKey
from schemas.turn_event import Answer

where = pathlib.Path(sys.argv[1])
conversation = Conversation(build_container(Settings(store="sqlite", data_dir=where)))

async def ask(session):
    async with asyncio.timeout(20):
        async for event in conversation.stream(session, "The vault is in the cellar."):
            if isinstance(event, Answer):
                return

for number in range(4):
    loop = asyncio.new_event_loop()
    loop.run_until_complete(ask(SessionKey("acc_ace", "aiko", f"s-{number}")))
    loop.close()
    print("answered", flush=True)
asyncio.run(conversation.close())
print("closed", flush=True)
"""


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SessionFile]:
    opened = SessionFile(tmp_path / "words.db", SCHEMA, wait_s=STANDS_STILL_S)
    yield opened
    asyncio.run(opened.close())


def leave_open(work: Coroutine[Any, Any, None], until: asyncio.Event) -> "asyncio.Task[None]":
    """Begin some work in a loop that is closed in the middle of it."""
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _loop, _context: None)
    task = loop.create_task(work)
    loop.run_until_complete(until.wait())
    loop.close()
    return task


async def write(file: SessionFile, word: str, written: asyncio.Event) -> None:
    """Write a word, and never come to commit it."""
    async with file.use() as connection:
        await connection.execute("INSERT INTO words VALUES (?)", (word,))
        written.set()
        await asyncio.Event().wait()


def left_open(file: SessionFile) -> "asyncio.Task[None]":
    written = asyncio.Event()
    return leave_open(write(file, "lost", written), written)


async def go_on(file: SessionFile) -> list[str]:
    async with asyncio.timeout(STANDS_STILL_S / 2), file.use() as connection:
        await connection.execute("INSERT INTO words VALUES ('next')")
        await connection.commit()
        rows = await connection.execute_fetchall("SELECT word FROM words")
        return [row["word"] for row in rows]


def test_what_a_closed_loop_left_is_undone_by_the_next_call(file: SessionFile) -> None:
    task = left_open(file)
    assert asyncio.run(go_on(file)) == ["next"]
    assert not task.done()


def test_a_task_that_is_collected_leaves_the_file_to_other_processes(file: SessionFile) -> None:
    left_open(file)
    gc.collect()
    with closing(sqlite3.connect(file.path, timeout=STANDS_STILL_S)) as elsewhere, elsewhere:
        elsewhere.execute("INSERT INTO words VALUES ('elsewhere')")
    assert asyncio.run(go_on(file)) == ["elsewhere", "next"]


def test_a_task_that_is_collected_late_undoes_nothing_of_the_call_after_it(
    file: SessionFile,
) -> None:
    tasks = [left_open(file)]

    async def later() -> None:
        async with file.use() as connection:
            await connection.execute("INSERT INTO words VALUES ('later')")
            tasks.clear()
            gc.collect()
            await connection.commit()

    asyncio.run(later())
    assert asyncio.run(go_on(file)) == ["later", "next"]


def test_who_waits_already_goes_on_when_the_loop_of_the_other_is_closed(
    file: SessionFile,
) -> None:
    loop, written = asyncio.new_event_loop(), asyncio.Event()
    task = loop.create_task(write(file, "lost", written))
    loop.run_until_complete(written.wait())
    waits = asyncio.Event()

    async def wait_and_go_on() -> list[str]:
        waiting = asyncio.create_task(go_on(file))
        await asyncio.sleep(0)
        loop.call_soon_threadsafe(waits.set)
        return await waiting

    with ThreadPoolExecutor(1) as pool:
        words = pool.submit(asyncio.run, wait_and_go_on())
        loop.run_until_complete(waits.wait())
        loop.close()
        assert words.result() == ["next"]
    assert not task.done()


def test_what_a_closed_loop_left_is_undone_though_the_call_that_was_let_in_after_it_is_cancelled(
    file: SessionFile,
) -> None:
    loop, written = asyncio.new_event_loop(), asyncio.Event()
    task = loop.create_task(write(file, "lost", written))
    loop.run_until_complete(written.wait())

    async def leave_and_go_on() -> list[str]:
        leaves = asyncio.create_task(go_on(file))
        await asyncio.sleep(0)
        loop.close()
        goes_on = asyncio.create_task(go_on(file))
        # It looks for itself, and lets in the one before it, which leaves without having begun.
        await asyncio.sleep(0)
        leaves.cancel()
        return await goes_on

    assert asyncio.run(leave_and_go_on()) == ["next"]
    assert not task.done()


def test_a_statement_that_ends_after_its_loop_keeps_no_later_call_waiting(tmp_path: Path) -> None:
    service = BoundedSessionService(tmp_path / "sessions.db", wait_s=STANDS_STILL_S)
    session = asyncio.run(service.create_session(**MINE))
    loop = asyncio.new_event_loop()

    async def begin(still_locked: ExitStack) -> "asyncio.Task[Event]":
        gate = still_locked.enter_context(gate_before("INSERT INTO events"))
        write = asyncio.create_task(service.append_event(session, words("lost")))
        await gate.reached.wait()
        return write

    with ExitStack() as still_locked:
        task = loop.run_until_complete(begin(still_locked))
        loop.close()

    async def later() -> list[str]:
        async with asyncio.timeout(STANDS_STILL_S / 2):
            other = await service.create_session(**OTHER)
            await service.append_event(other, words("next"))
            read = await service.get_session(**MINE)
        await service.close()
        return [event.invocation_id for event in read.events] if read else ["none"]

    assert asyncio.run(later()) == []
    assert not task.done()


def test_each_turn_may_have_a_loop_that_is_closed_at_the_answer(tmp_path: Path) -> None:
    # As a program of its own: Python tells of each task that is lost with its loop.
    ended = subprocess.run(  # noqa: S603
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=6 * STANDS_STILL_S,
        check=False,
    )
    assert ended.stdout.splitlines() == ["answered"] * 4 + ["closed"], ended.stderr
