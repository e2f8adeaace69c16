"""Empty the write-ahead log of a SQLite file, so that nothing that was deleted is left in it.

SQLite cannot do so while another connection reads, a backup for example, and says it in a result
that no exception goes with. Each try waits briefly, because writers of other processes wait too.
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
"""How long the deletion of a session waits. What it leaves goes with the next one that succeeds,
with what is written later, or when the file is closed."""

PATIENTLY_S: Final = 2.0
"""How long an erasure waits before it fails, to be asked for again."""

_TRY_MS: Final = 100
PAUSE_S: Final = 0.02
_EMPTY: Final = "PRAGMA wal_checkpoint(TRUNCATE)"


def try_scrub(connection: sqlite3.Connection) -> bool:
    """Empty the log once; whether it is empty now."""
    (usual,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout = {_TRY_MS}")
    try:
        (busy, *_) = connection.execute(_EMPTY).fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {usual}")
    return not busy


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
        "reads the database, a backup for example; let it end, then erase again"
    )
