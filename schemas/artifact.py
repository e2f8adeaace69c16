"""Public contract: artifacts of external memory. Defined in `acc_ace.schemas.artifact`."""

from acc_ace.schemas.artifact import Artifact, ArtifactKind, Recall, RecalledArtifact, RecallQuery

__all__ = ["Artifact", "ArtifactKind", "Recall", "RecallQuery", "RecalledArtifact"]
