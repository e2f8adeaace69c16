"""Public contract: artifacts and documents. Defined in `acc_ace.core.schemas.artifact`."""

from acc_ace.core.schemas.artifact import (
    Artifact,
    ArtifactKind,
    DocumentForm,
    DocumentPart,
    DocumentRecord,
    Erased,
    ImportedDocument,
    MemoryHit,
    MemoryHits,
    Recall,
    RecalledArtifact,
    RecallQuery,
    StoredDocument,
)

__all__ = [
    "Artifact",
    "ArtifactKind",
    "DocumentForm",
    "DocumentPart",
    "DocumentRecord",
    "Erased",
    "ImportedDocument",
    "MemoryHit",
    "MemoryHits",
    "Recall",
    "RecallQuery",
    "RecalledArtifact",
    "StoredDocument",
]
