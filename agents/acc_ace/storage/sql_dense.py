"""Recall by meaning beside the words of an artifact store in a SQL database.

Everything but the search for vectors is the same in SQLite and PostgreSQL, and stands here.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Generic, NamedTuple, Protocol, TypeVar

from acc_ace.memory.artifact_store import Embedder, VectorStore
from acc_ace.memory.embedding_backfill import VectorFiller
from acc_ace.memory.ranking import Document
from acc_ace.storage.dense_query import DensePool, DenseQuery, Prepared, dimension_changed
from acc_ace.storage.sql_artifact_pool import ArtifactRows
from acc_ace.storage.tenant_totals import TenantTotals
from acc_ace.storage.time_bounds import Times
from acc_ace.text.duplicates import Vector

_POOL = 64
"""Artifacts nearest in meaning that are ranked."""

_LEADS = 16
"""Those of them whose neighbouring turns are ranked too."""

R = TypeVar("R", bound=ArtifactRows)
R_contra = TypeVar("R_contra", bound=ArtifactRows, contravariant=True)


class Nearest(NamedTuple):
    """What is nearest in meaning: documents, the nearest first, and their cosines by id."""

    documents: Sequence[Document]
    cosines: Mapping[str, float]


class VectorSearch(Protocol[R_contra]):
    """Finds vectors of visible artifacts in a database."""

    def model_number(self, rows: R_contra, name: str, dimension: int) -> int | None:
        """The number of a model; None when nothing was embedded with this dimension."""
        ...

    def other_dimension(
        self, rows: R_contra, tenant: TenantTotals, name: str, dimension: int
    ) -> int | None:
        """The dimension of vectors that this model gave before it changed, if any is left."""
        ...

    def prepare(
        self,
        rows: R_contra,
        tenant: TenantTotals,
        name: str,
        dimension: int,
        lexical: Collection[str],
    ) -> Prepared | None:
        """What can be read before the vector of the question is there; None if nothing can."""
        ...

    def nearest(self, rows: R_contra, query: DenseQuery, times: Times, *, limit: int) -> Nearest:
        """The nearest `limit` artifacts of the tenant made before the end of the times."""
        ...

    def cosines(
        self,
        rows: R_contra,
        query: DenseQuery,
        artifact_ids: Sequence[str],
        prepared: Prepared | None,
    ) -> Mapping[str, float]:
        """The cosine of each of these and of what was prepared, where there is a vector."""
        ...

    def forget(self, tenant_id: int) -> None:
        """Drop what is in memory of a tenant."""
        ...


class SqlDense(Generic[R]):
    """The embedder of a store, its vectors, and the task that fills them in."""

    def __init__(self, embedder: Embedder, vectors: VectorStore, search: VectorSearch[R]) -> None:
        self.embedder = embedder
        self.filler = VectorFiller(vectors, embedder)
        self._search = search

    def prepare(self, rows: R, tenant: TenantTotals, lexical: Collection[str]) -> Prepared | None:
        """What can be read before the vector of the question is there; None if nothing can."""
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
        prepared: Prepared | None = None,
    ) -> DensePool:
        """What is near `vector` and what stands beside it, with the cosines of `lexical` too."""
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
        # In the order of the pool, so that the last digits never depend on luck.
        others = [name for name in {**lexical, **added} if name not in near.cosines]
        cosines = self._search.cosines(rows, query, others, prepared)
        return DensePool(added, {**near.cosines, **cosines}, warnings)

    def forget(self, tenant_id: int) -> None:
        """Drop what is in memory of a tenant."""
        self._search.forget(tenant_id)
