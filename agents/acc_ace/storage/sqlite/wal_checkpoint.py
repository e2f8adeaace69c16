"""Truncating WAL checkpoint of a SQLite file, so that no deleted data is left in its log.

SQLite cannot truncate the log while another connection reads, such as a backup, and reports this
in the result, not by an exception. Each try waits briefly, because other processes' writers block.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from acc_ace.errors import StoreError

_log = logging.getLogger(__name__)

BRIEFLY_S: Final = 0.3
"""Wait of a session's deletion. Data left in the log is removed by the next successful checkpoint
or when the file is closed."""

PATIENTLY_S: Final = 2.0
"""Wait of a user's erasure before it fails and must be repeated."""

_TRY_MS: Final = 100
PAUSE_S: Final = 0.02
_EMPTY: Final = "PRAGMA wal_checkpoint(TRUNCATE)"


def try_scrub(connection: sqlite3.Connection) -> bool:
    """Try to truncate the log once; return whether that succeeded."""
    (usual,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout = {_TRY_MS}")
    try:
        (busy, *_) = connection.execute(_EMPTY).fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {usual}")
    return not busy


async def scrubbed(attempt: Callable[[], Awaitable[bool]], path: Path, *, wait_s: float) -> bool:
    """Retry for at most `wait_s` seconds; return whether that succeeded, and log a failure."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_s
    while not await attempt():
        if loop.time() >= deadline:
            _log.warning("deleted_words_left file=%s-wal: another program reads it", path.name)
            return False
        await asyncio.sleep(PAUSE_S)
    return True


def still_read(path: Path) -> StoreError:
    """The error of an erasure that cannot truncate the log."""
    return StoreError(
        f"erased data is still in {path.name}-wal of {path.parent}, because another program "
        "reads the database, a backup for example; stop it, then erase again"
    )
