"""Public contract: artifacts and documents. Defined in `acc_ace.core.schemas.artifact`."""

from acc_ace.core.schemas.artifact import (
    Artifact,
    ArtifactKind,
    DocumentForm,
    DocumentPart,
    DocumentRecord,
    ImportedDocument,
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
    "ImportedDocument",
    "Recall",
    "RecallQuery",
    "RecalledArtifact",
    "StoredDocument",
]
