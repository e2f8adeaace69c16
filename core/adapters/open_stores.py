"""Open the stores that the settings ask for."""

from dataclasses import dataclass

from config import Settings
from core.adapters.in_memory import (
    InMemoryArtifactStore,
    InMemoryEvidenceStore,
    InMemoryJournal,
    InMemoryPlaybookStore,
)
from core.adapters.session_lock import InProcessSessionLock
from core.adapters.sqlite_artifacts import SqliteArtifactStore
from core.adapters.sqlite_database import DATABASE_FILE, SqliteDatabase
from core.adapters.sqlite_evidence import SqliteEvidenceStore
from core.adapters.sqlite_journal import SqliteJournal
from core.adapters.sqlite_lock import SqliteSessionLock
from core.adapters.sqlite_playbook import SqlitePlaybookStore
from core.ports.artifact_store import ArtifactStore
from core.ports.clock import Clock
from core.ports.evidence_store import EvidenceStore
from core.ports.journal import Journal
from core.ports.playbook_store import PlaybookStore
from core.ports.session_lock import SessionLock


@dataclass(frozen=True)
class Stores:
    """All stores of one process. `database` is None in memory."""

    artifacts: ArtifactStore
    evidence: EvidenceStore
    journal: Journal
    playbooks: PlaybookStore
    lock: SessionLock
    database: SqliteDatabase | None = None

    async def close(self) -> None:
        """Close the database, if there is one."""
        if self.database is not None:
            await self.database.close()


def open_stores(settings: Settings, clock: Clock) -> Stores:
    """The stores of `settings.store`. Needs no event loop and does no I/O before first use."""
    if settings.store == "memory":
        return Stores(
            artifacts=InMemoryArtifactStore(),
            evidence=InMemoryEvidenceStore(),
            journal=InMemoryJournal(),
            playbooks=InMemoryPlaybookStore(),
            lock=InProcessSessionLock(),
        )
    database = SqliteDatabase(settings.data_dir / DATABASE_FILE)
    return Stores(
        artifacts=SqliteArtifactStore(database),
        evidence=SqliteEvidenceStore(database),
        journal=SqliteJournal(database),
        playbooks=SqlitePlaybookStore(database),
        lock=SqliteSessionLock(database, clock),
        database=database,
    )
