"""A loop that is closed while deleted words are wiped leaves the connection as it was."""

import asyncio
import threading
from pathlib import Path

from core.adapters.sqlite_scrub import scrub_connected
from core.adapters.sqlite_session_file import SessionFile

SCHEMA = "CREATE TABLE IF NOT EXISTS notes (text TEXT)"
STANDS_STILL_S = 20.0


async def patience(file: SessionFile) -> int:
    """How long the connection waits for other processes, in milliseconds."""
    async with file.use() as connection:
        [(milliseconds,)] = await connection.execute_fetchall("PRAGMA busy_timeout")
        return int(milliseconds)


async def begin_to_scrub(file: SessionFile, may_go_on: threading.Event) -> "asyncio.Task[bool]":
    """A scrub whose statement stands still on the driver's thread."""
    loop, reached = asyncio.get_running_loop(), asyncio.Event()

    def hold(statement: str) -> None:
        if "wal_checkpoint" in statement:
            loop.call_soon_threadsafe(reached.set)
            may_go_on.wait(STANDS_STILL_S)

    async with file.use() as connection:
        await connection.set_trace_callback(hold)
    scrub = asyncio.create_task(scrub_connected(file.use, file.path, wait_s=0))
    await reached.wait()
    return scrub


async def scrub_once_more(file: SessionFile) -> None:
    async with file.use() as connection:
        await connection.execute("INSERT INTO notes VALUES ('one')")
        await connection.commit()
        await connection.set_trace_callback(lambda _statement: None)
    assert await scrub_connected(file.use, file.path, wait_s=STANDS_STILL_S)


def test_a_loop_closed_while_a_deletion_scrubs_leaves_the_connection_as_patient_as_it_was(
    tmp_path: Path,
) -> None:
    file = SessionFile(tmp_path / "sessions.db", SCHEMA, wait_s=STANDS_STILL_S)
    usual = asyncio.run(patience(file))
    loop, may_go_on = asyncio.new_event_loop(), threading.Event()
    loop.set_exception_handler(lambda _loop, _context: None)
    scrub = loop.run_until_complete(begin_to_scrub(file, may_go_on))
    loop.close()
    may_go_on.set()
    assert asyncio.run(patience(file)) == usual
    asyncio.run(scrub_once_more(file))
    assert (tmp_path / "sessions.db-wal").stat().st_size == 0
    assert asyncio.run(patience(file)) == usual
    assert not scrub.done()
    asyncio.run(file.close())
