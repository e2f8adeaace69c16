"""Open the playbook store of a place, with little to import: a directory, or a database URL."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from acc_ace.core.playbook.playbook_store import PlaybookStore
from acc_ace.hooks import STORES, only
from acc_ace.storage.playbooks.sql_playbook import SqlPlaybookStore
from acc_ace.storage.sqlite.database import SqliteDatabase
from config import Settings
from schemas.base import PlaybookScope

SCOPE = PlaybookScope("shop")

_PATIENCE_S = 60.0
"""A machine that others use as well may let a writer wait long for its turn."""


@asynccontextmanager
async def playbook_store(place: str) -> AsyncIterator[PlaybookStore]:
    """The store, closed at the end."""
    if place.startswith("postgresql:"):
        settings = Settings(database_url=place, database_connections=2, database_wait_s=_PATIENCE_S)
        server = only(STORES, "a database URL").open_database(settings)
        yield SqlPlaybookStore(server)
        await server.close()
        return
    file = SqliteDatabase(Path(place) / "memory.db", busy_timeout_s=_PATIENCE_S)
    yield SqlPlaybookStore(file)
    await file.close()
