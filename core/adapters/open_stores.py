"""Open the stores that the settings ask for."""

from config import Settings
from core.adapters.in_memory import (
    InMemoryArtifactStore,
    InMemoryEvidenceStore,
    InMemoryJournal,
    InMemoryPlaybookStore,
)
from core.adapters.in_memory_sessions import InMemoryJobStore, InMemorySessionDirectory
from core.adapters.session_lock import InProcessSessionLock
from core.adapters.sqlite_artifacts import SqliteArtifactStore
from core.adapters.sqlite_database import DATABASE_FILE, SqliteDatabase
from core.adapters.sqlite_evidence import SqliteEvidenceStore
from core.adapters.sqlite_jobs import SqliteJobStore
from core.adapters.sqlite_journal import SqliteJournal
from core.adapters.sqlite_lock import SqliteSessionLock
from core.adapters.sqlite_playbook import SqlitePlaybookStore
from core.adapters.sqlite_sessions import SqliteSessionDirectory
from core.adapters.stores import Stores
from core.ports.clock import Clock

__all__ = ["Stores", "open_stores"]


def open_stores(settings: Settings, clock: Clock) -> Stores:
    """The stores of `settings.store`. Needs no event loop and does no I/O before first use.

    Raises ConfigError when PostgreSQL is asked for and its URL or driver is missing.
    """
    if settings.store == "memory":
        return _in_memory(settings)
    if settings.store == "postgres":
        # The driver is an optional extra.
        from core.adapters.open_postgres import open_postgres_stores  # noqa: PLC0415

        return open_postgres_stores(settings)
    return _in_sqlite(settings, clock)


def _in_memory(settings: Settings) -> Stores:
    return Stores(
        artifacts=InMemoryArtifactStore(weights=settings.recall),
        evidence=InMemoryEvidenceStore(),
        journal=InMemoryJournal(),
        playbooks=InMemoryPlaybookStore(),
        lock=InProcessSessionLock(),
        directory=InMemorySessionDirectory(),
        jobs=InMemoryJobStore(),
    )


def _in_sqlite(settings: Settings, clock: Clock) -> Stores:
    database = SqliteDatabase(settings.data_dir / DATABASE_FILE)
    return Stores(
        artifacts=SqliteArtifactStore(database, weights=settings.recall),
        evidence=SqliteEvidenceStore(database),
        journal=SqliteJournal(database),
        playbooks=SqlitePlaybookStore(database),
        lock=SqliteSessionLock(database, clock),
        directory=SqliteSessionDirectory(database),
        jobs=SqliteJobStore(database),
        database=database,
        close=database.close,
    )
