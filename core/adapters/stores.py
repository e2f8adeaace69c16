"""All stores of one process, whatever they are kept in."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from core.adapters.sqlite_database import SqliteDatabase
from core.ports.artifact_store import ArtifactStore
from core.ports.evidence_store import EvidenceStore
from core.ports.job_store import JobStore
from core.ports.journal import Journal
from core.ports.playbook_store import PlaybookStore
from core.ports.session_directory import SessionDirectory
from core.ports.session_lock import SessionLock
from core.ports.user_erasure import UserErasure


async def _nothing_to_close() -> None:
    """What is in memory needs no closing."""


@dataclass(frozen=True)
class Stores:
    """All stores of one process. `database` is the SQLite file, where there is one."""

    artifacts: ArtifactStore
    evidence: EvidenceStore
    journal: Journal
    playbooks: PlaybookStore
    lock: SessionLock
    directory: SessionDirectory
    jobs: JobStore
    database: SqliteDatabase | None = None
    erasure: UserErasure | None = None
    """Erases from all of them in one transaction, where they share a database."""
    close: Callable[[], Awaitable[None]] = _nothing_to_close
    """Closes the database, if there is one."""
