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
from core.ports.artifact_store import ArtifactStore
from core.ports.clock import Clock
from core.ports.evidence_store import EvidenceStore
from core.ports.journal import Journal
from core.ports.playbook_store import PlaybookStore
from core.ports.session_lock import SessionLock


@dataclass(frozen=True)
class Stores:
    """All stores of one process."""

    artifacts: ArtifactStore
    evidence: EvidenceStore
    journal: Journal
    playbooks: PlaybookStore
    lock: SessionLock

    async def close(self) -> None:
        """Close what is open."""


def open_stores(settings: Settings, clock: Clock) -> Stores:
    """The stores of `settings.store`, ready to use. Needs no event loop and does no I/O yet."""
    return Stores(
        artifacts=InMemoryArtifactStore(),
        evidence=InMemoryEvidenceStore(),
        journal=InMemoryJournal(),
        playbooks=InMemoryPlaybookStore(),
        lock=InProcessSessionLock(),
    )
