"""Open the playbook store of a place, with little to import: a directory, or a database URL."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from acc_ace.core.playbook.playbook_store import PlaybookStore
from acc_ace.ext.postgres.database import PostgresDatabase
from acc_ace.storage.playbooks.sql_playbook import SqlPlaybookStore
from acc_ace.storage.sqlite.database import SqliteDatabase
from schemas.base import PlaybookScope

SCOPE = PlaybookScope("shop")

_PATIENCE_S = 60.0
"""A machine that others use as well may let a writer wait long for its turn."""


@asynccontextmanager
async def playbook_store(place: str) -> AsyncIterator[PlaybookStore]:
    """The store, closed at the end."""
    if place.startswith("postgresql:"):
        server = PostgresDatabase(place, connections=2, wait_s=_PATIENCE_S)
        yield SqlPlaybookStore(server)
        await server.close()
        return
    file = SqliteDatabase(Path(place) / "memory.db", busy_timeout_s=_PATIENCE_S)
    yield SqlPlaybookStore(file)
    await file.close()
