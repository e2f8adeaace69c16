"""Vectors of artifacts in memory, compared one by one. Needs numpy."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from core.adapters.half_floats import floats
from core.adapters.sign_index import centred_cosines, drawn_mean
from core.adapters.vector_filling import VectorFiller
from core.domain.vectors import Vector
from core.ports.embedder import Embedder
from core.ports.vector_store import Embedded, Unembedded
from schemas.artifact import Artifact, ArtifactKind


class _Kept(NamedTuple):
    model: str
    dimension: int
    vectors: Sequence[Vector]


class InMemoryDense:
    """A VectorStore beside an InMemoryArtifactStore, and the search over it."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.filler = VectorFiller(self, embedder)
        self.visible: Callable[[], Iterable[tuple[int, Artifact]]] = tuple
        """The numbers and artifacts of all tenants that are not retired; the store sets it."""
        self._kept: dict[int, _Kept] = {}

    async def unembedded(
        self, model: str, dimension: int | None, *, limit: int
    ) -> Sequence[Unembedded]:
        """Artifacts without vectors of this model, the newest first."""
        artifacts = dict(self.visible())
        for row in self._kept.keys() - artifacts.keys():
            del self._kept[row]
        missing = [
            row for row in sorted(artifacts, reverse=True) if not self._has(row, model, dimension)
        ]
        return [_unembedded(row, artifacts) for row in missing[:limit]]

    async def keep(self, model: str, dimension: int, embedded: Sequence[Embedded]) -> None:
        """Store vectors in place of all older ones of these artifacts."""
        known = {row for row, _ in self.visible()}
        for item in embedded:
            if item.row in known:
                self._kept[item.row] = _Kept(model, dimension, item.vectors)

    def cosines(self, rows: Sequence[int], query: Vector) -> dict[int, float]:
        """The cosine of each row that has vectors of this model and dimension."""
        found = [
            (row, vector)
            for row in rows
            if self._has(row, self.embedder.model, len(query))
            for vector in self._kept[row].vectors
        ]
        if not found:
            return {}
        matrix = np.stack([floats(vector) for _, vector in found])
        mean = drawn_mean(matrix.sum(axis=0, dtype=np.float64), len(matrix))
        best: dict[int, float] = {}
        cosines = centred_cosines(floats(query), matrix, mean).tolist()
        for (row, _), cosine in zip(found, cosines, strict=True):
            best[row] = max(cosine, best.get(row, -1.0))
        return best

    def other_dimension(self, rows: Sequence[int], dimension: int) -> int | None:
        """The dimension of vectors that the model gave before it changed, if any is left."""
        kept = (self._kept[row] for row in rows if row in self._kept)
        return next(
            (
                item.dimension
                for item in kept
                if item.model == self.embedder.model and item.dimension != dimension
            ),
            None,
        )

    def _has(self, row: int, model: str, dimension: int | None) -> bool:
        kept = self._kept.get(row)
        return (
            kept is not None
            and kept.model == model
            and (dimension is None or kept.dimension == dimension)
        )


def _unembedded(row: int, artifacts: dict[int, Artifact]) -> Unembedded:
    artifact = artifacts[row]
    earlier = [
        (other.turn, number, other.content)
        for number, other in artifacts.items()
        if artifact.turn is not None
        and artifact.kind is not ArtifactKind.TOOL_RESULT
        and (other.tenant, other.session, other.kind)
        == (artifact.tenant, artifact.session, artifact.kind)
        and other.turn is not None
        and other.turn < artifact.turn
    ]
    return Unembedded(row, artifact.content, max(earlier)[2] if earlier else "")
