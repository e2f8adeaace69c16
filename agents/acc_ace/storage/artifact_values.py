"""An artifact as the columns that both databases keep of it."""

from typing import NamedTuple

from acc_ace.memory.priors import ends_asking, speaker_terms
from acc_ace.schemas.artifact import Artifact
from acc_ace.storage.json_codec import encode
from acc_ace.text.search_terms import index_terms


class ArtifactRow(NamedTuple):
    """An artifact with its search terms, their number and the JSON that is stored."""

    artifact: Artifact
    terms: str
    length: int
    body: str

    @staticmethod
    def of(artifact: Artifact) -> "ArtifactRow":
        """The row of an artifact."""
        terms = index_terms(artifact.content)
        return ArtifactRow(artifact, terms, len(terms.split()), encode(artifact))

    @property
    def columns(self) -> tuple[object, ...]:
        """artifact_id, session, kind, turn, created_at, length, speaker and asks."""
        artifact = self.artifact
        return (
            artifact.artifact_id,
            artifact.session,
            artifact.kind.value,
            artifact.turn,
            artifact.created_at.timestamp(),
            self.length,
            speaker_terms(artifact.content),
            ends_asking(artifact.content),
        )
