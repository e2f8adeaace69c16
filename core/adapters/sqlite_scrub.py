"""Empty the write-ahead log of a SQLite file, so that nothing that was deleted is left in it.

SQLite cannot do so while another connection reads, a backup for example, and says it in a result
that no exception goes with. Each try waits briefly, because writers of other processes wait too.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

import aiosqlite

from core.errors import StoreError

_log = logging.getLogger(__name__)

BRIEFLY_S: Final = 0.3
"""How long the deletion of a session waits. What it leaves goes with the next one that succeeds,
with what is written later, or when the file is closed."""

PATIENTLY_S: Final = 2.0
"""How long an erasure waits before it fails and stays a job."""

_TRY_MS: Final = 100
PAUSE_S: Final = 0.02
_EMPTY: Final = "PRAGMA wal_checkpoint(TRUNCATE)"

_Queue = Callable[[Callable[[sqlite3.Connection], bool], sqlite3.Connection], Awaitable[bool]]
"""Runs some work on the driver's thread."""


def try_scrub(connection: sqlite3.Connection) -> bool:
    """Empty the log once; whether it is empty now."""
    (usual,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout = {_TRY_MS}")
    try:
        (busy, *_) = connection.execute(_EMPTY).fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {usual}")
    return not busy


async def scrub_connected(
    connect: Callable[[], AbstractAsyncContextManager[aiosqlite.Connection]],
    path: Path,
    *,
    wait_s: float,
) -> bool:
    """Empty the log over a connection that others use between two tries; whether it is empty."""

    async def attempt() -> bool:
        async with connect() as connection:
            # One job of the driver's thread: whatever becomes of this call, and of its loop, the
            # connection waits for others as long as before.
            queue: _Queue = connection._execute
            return await queue(try_scrub, connection._conn)

    return await scrubbed(attempt, path, wait_s=wait_s)


async def scrubbed(attempt: Callable[[], Awaitable[bool]], path: Path, *, wait_s: float) -> bool:
    """Try until it succeeds, for at most `wait_s` seconds; whether it did. If not, it is logged."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_s
    while not await attempt():
        if loop.time() >= deadline:
            _log.warning("deleted_words_left file=%s-wal: another program reads it", path.name)
            return False
        await asyncio.sleep(PAUSE_S)
    return True


def still_read(path: Path) -> StoreError:
    """The error of an erasure that cannot wipe what it has deleted."""
    return StoreError(
        f"erased words are still in {path.name}-wal of {path.parent}, because another program "
        "reads the database, a backup for example; let it end: the erasure goes on in the "
        "background, or erase again"
    )
