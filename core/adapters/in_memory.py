"""The in-memory stores, in one place to import from."""

from core.adapters.in_memory_artifacts import InMemoryArtifactStore
from core.adapters.in_memory_evidence import InMemoryEvidenceStore
from core.adapters.in_memory_journal import InMemoryJournal
from core.adapters.in_memory_playbook import InMemoryPlaybookStore

__all__ = [
    "InMemoryArtifactStore",
    "InMemoryEvidenceStore",
    "InMemoryJournal",
    "InMemoryPlaybookStore",
]
