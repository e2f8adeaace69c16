"""Open the playbook store of a place, with little to import: a directory, or a database URL."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from core.adapters.postgres_database import PostgresDatabase
from core.adapters.postgres_playbook import PostgresPlaybookStore
from core.adapters.sqlite_database import SqliteDatabase
from core.adapters.sqlite_playbook import SqlitePlaybookStore
from core.ports.playbook_store import PlaybookStore
from schemas.tenancy import PlaybookScope

SCOPE = PlaybookScope("shop")

_PATIENCE_S = 60.0
"""A machine that others use as well may let a writer wait long for its turn."""


@asynccontextmanager
async def playbook_store(place: str) -> AsyncIterator[PlaybookStore]:
    """The store, closed at the end."""
    if place.startswith("postgresql:"):
        server = PostgresDatabase(place, connections=2, patience_s=_PATIENCE_S)
        yield PostgresPlaybookStore(server)
        await server.close()
        return
    file = SqliteDatabase(Path(place) / "memory.db", busy_timeout_s=_PATIENCE_S)
    yield SqlitePlaybookStore(file)
    await file.close()
