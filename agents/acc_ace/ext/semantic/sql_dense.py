"""Semantic search over artifacts in a SQL database, in addition to lexical search.

The embedder runs during the lexical search; if it fails, recall is lexical only.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from acc_ace.core.text.duplicates import Vector
from acc_ace.ext.semantic.embedding_backfill import EmbeddingBackfill
from acc_ace.memory.artifact_store import Embedder, VectorStore
from acc_ace.memory.ranking import Document
from acc_ace.storage.dense_search import DensePool, DenseQuery, Nearest, Prefetch
from acc_ace.storage.sql_artifact_pool import ArtifactRows
from acc_ace.storage.tenant_rows import TenantTotals, Times

_log = logging.getLogger(__name__)


def dimension_changed(model: str, *, before: int, now: int) -> str:
    """The warning for an embedder whose dimension changed under the same name."""
    return (
        f"embedder {model} has dimension {now} now, {before} before; stored artifacts are being "
        "embedded again, and found by lexical search until then"
    )


_POOL = 64
"""Nearest artifacts that are ranked."""

_LEADS = 16
"""Nearest artifacts whose neighbouring turns are ranked too."""

R = TypeVar("R", bound=ArtifactRows)
R_contra = TypeVar("R_contra", bound=ArtifactRows, contravariant=True)


class VectorSearch(Protocol[R_contra]):
    """Searches the vectors of visible artifacts in a database."""

    def model_number(self, rows: R_contra, name: str, dimension: int) -> int | None:
        """The number of a model; None if it has embedded nothing with this dimension."""
        ...

    def other_dimension(
        self, rows: R_contra, tenant: TenantTotals, name: str, dimension: int
    ) -> int | None:
        """Another dimension of this model's stored vectors, from before it changed, or None."""
        ...

    def prepare(
        self,
        rows: R_contra,
        tenant: TenantTotals,
        name: str,
        dimension: int,
        lexical: Collection[str],
    ) -> Prefetch | None:
        """Vectors that can be read before the query vector is known; None if none can."""
        ...

    def nearest(self, rows: R_contra, query: DenseQuery, times: Times, *, limit: int) -> Nearest:
        """The tenant's nearest `limit` artifacts created before the end of the time range."""
        ...

    def cosines(
        self,
        rows: R_contra,
        query: DenseQuery,
        artifact_ids: Sequence[str],
        prepared: Prefetch | None,
    ) -> Mapping[str, float]:
        """The cosine of each of these and of the prepared artifacts, if it has a vector."""
        ...

    def forget(self, tenant_id: int) -> None:
        """Drop a tenant's cached data."""
        ...


class SqlDense(Generic[R]):
    """The embedder of a store, its vector search, and the embedding backfill."""

    def __init__(self, embedder: Embedder, vectors: VectorStore, search: VectorSearch[R]) -> None:
        self.embedder = embedder
        self.filler = EmbeddingBackfill(vectors, embedder)
        self._search = search

    def prepare(self, rows: R, tenant: TenantTotals, lexical: Collection[str]) -> Prefetch | None:
        """Vectors that can be read before the query vector is known; None if none can."""
        name, dimension = self.embedder.model, self.embedder.dimension
        if dimension is None:
            return None
        return self._search.prepare(rows, tenant, name, dimension, lexical)

    def pool(
        self,
        rows: R,
        tenant: TenantTotals,
        vector: Vector,
        lexical: Mapping[str, Document],
        *,
        before: datetime | None,
        prepared: Prefetch | None = None,
    ) -> DensePool:
        """The nearest artifacts and their neighbours, with the cosines of `lexical` too."""
        name, dimension = self.embedder.model, len(vector)
        earlier = self._search.other_dimension(rows, tenant, name, dimension)
        warnings = [dimension_changed(name, before=earlier, now=dimension)] if earlier else []
        model = self._search.model_number(rows, name, dimension)
        if model is None:
            return DensePool({}, {}, warnings)
        query, times = DenseQuery(tenant, model, vector), Times.of(before)
        near = self._search.nearest(rows, query, times, limit=_POOL)
        beside = rows.neighbours(tenant, near.documents[:_LEADS], before=times.end)
        added = {document.artifact_id: document for document in (*near.documents, *beside)}
        # In pool order, which makes even the last digits deterministic.
        others = [name for name in {**lexical, **added} if name not in near.cosines]
        cosines = self._search.cosines(rows, query, others, prepared)
        return DensePool(added, {**near.cosines, **cosines}, warnings)

    def forget(self, tenant_id: int) -> None:
        """Drop a tenant's cached data."""
        self._search.forget(tenant_id)
