"""Semantic search in SQLite, in addition to lexical search. Needs numpy."""

from collections.abc import Collection, Mapping, Sequence
from itertools import islice

from acc_ace.ext.semantic.sql_dense import SqlDense
from acc_ace.ext.semantic.vectors import SqliteVectors, model_number, other_dimension
from acc_ace.memory.artifact_store import Embedder
from acc_ace.memory.ranking import Document
from acc_ace.storage.dense_search import DenseQuery, Nearest, Prefetch
from acc_ace.storage.sqlite.artifact_rows import SqliteArtifactRows
from acc_ace.storage.sqlite.database import SqliteDatabase
from acc_ace.storage.tenant_rows import TenantTotals, Times


class SqliteDense(SqlDense[SqliteArtifactRows]):
    """Semantic search with vectors in the same SQLite file."""

    def __init__(self, database: SqliteDatabase, embedder: Embedder, *, memory_bytes: int) -> None:
        vectors = SqliteVectors(database, memory_bytes=memory_bytes)
        super().__init__(embedder, vectors, _SqliteSearch(vectors))


class _SqliteSearch:
    """A VectorSearch over SqliteVectors, used on the database's thread."""

    def __init__(self, vectors: SqliteVectors) -> None:
        self._vectors = vectors

    def model_number(self, rows: SqliteArtifactRows, name: str, dimension: int) -> int | None:
        """The number of a model; None if it has embedded nothing with this dimension."""
        return model_number(rows.connection, name, dimension)

    def other_dimension(
        self, rows: SqliteArtifactRows, tenant: TenantTotals, name: str, dimension: int
    ) -> int | None:
        """Another dimension of this model's stored vectors, from before it changed, or None."""
        return other_dimension(rows.connection, tenant.id, name, dimension)

    def prepare(
        self,
        rows: SqliteArtifactRows,
        tenant: TenantTotals,
        name: str,
        dimension: int,
        lexical: Collection[str],
    ) -> Prefetch | None:
        """Read the vectors of lexical matches, and load signs stored since the last search."""
        model = model_number(rows.connection, name, dimension)
        if model is None:
            return None
        self._vectors.refresh(rows.connection, tenant.id, model, dimension)
        vectors = self._vectors.kept(rows.connection, tenant.id, model, lexical)
        return Prefetch(model, frozenset(lexical), vectors)

    def nearest(
        self, rows: SqliteArtifactRows, query: DenseQuery, times: Times, *, limit: int
    ) -> Nearest:
        """The tenant's nearest `limit` artifacts created before the end of the time range."""
        near = self._vectors.search(rows.connection, query.tenant.id, query.model, query.vector)
        # Hundreds of candidates, read in batches until enough are visible.
        candidates = list(near)
        documents: dict[int, Document] = {}
        for start in range(0, len(candidates), limit):
            some = candidates[start : start + limit]
            documents |= rows.documents_of(query.tenant, some, before=times.end)
            if len(documents) >= limit:
                break
        nearest = dict(islice(documents.items(), limit))
        cosines = {document.artifact_id: near[row] for row, document in nearest.items()}
        return Nearest(list(nearest.values()), cosines)

    def cosines(
        self,
        rows: SqliteArtifactRows,
        query: DenseQuery,
        artifact_ids: Sequence[str],
        prepared: Prefetch | None,
    ) -> Mapping[str, float]:
        """The cosine of each of these and of the prepared artifacts, if it has a vector."""
        tenant, model = query.tenant.id, query.model
        if prepared is None or prepared.model != model:
            prepared = Prefetch(model, frozenset(), [])
        others = [name for name in artifact_ids if name not in prepared.artifact_ids]
        vectors = [*prepared.kept, *self._vectors.kept(rows.connection, tenant, model, others)]
        return self._vectors.cosines(tenant, model, query.vector, vectors)

    def forget(self, tenant_id: int) -> None:
        """Drop a tenant's cached data."""
        self._vectors.forget(tenant_id)
