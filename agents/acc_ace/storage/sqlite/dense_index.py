"""Recall by meaning beside the words of a SqliteArtifactStore. Needs numpy."""

from collections.abc import Collection, Mapping, Sequence
from itertools import islice

from acc_ace.memory.artifact_store import Embedder
from acc_ace.memory.ranking import Document
from acc_ace.storage.sql_dense import DenseQuery, Nearest, Prepared, SqlDense
from acc_ace.storage.sqlite.artifact_rows import SqliteArtifactRows
from acc_ace.storage.sqlite.database import SqliteDatabase
from acc_ace.storage.sqlite.vectors import SqliteVectors, model_number, other_dimension
from acc_ace.storage.tenant_rows import TenantTotals, Times


class SqliteDense(SqlDense[SqliteArtifactRows]):
    """The embedder of a SqliteArtifactStore, with vectors in the same file."""

    def __init__(self, database: SqliteDatabase, embedder: Embedder, *, memory_bytes: int) -> None:
        vectors = SqliteVectors(database, memory_bytes=memory_bytes)
        super().__init__(embedder, vectors, _Search(vectors))


class _Search:
    """A VectorSearch over SqliteVectors; on the database's one thread."""

    def __init__(self, vectors: SqliteVectors) -> None:
        self._vectors = vectors

    def model_number(self, rows: SqliteArtifactRows, name: str, dimension: int) -> int | None:
        """The number of a model; None when nothing was embedded with this dimension."""
        return model_number(rows.connection, name, dimension)

    def other_dimension(
        self, rows: SqliteArtifactRows, tenant: TenantTotals, name: str, dimension: int
    ) -> int | None:
        """The dimension of vectors that this model gave before it changed, if any is left."""
        return other_dimension(rows.connection, tenant.id, name, dimension)

    def prepare(
        self,
        rows: SqliteArtifactRows,
        tenant: TenantTotals,
        name: str,
        dimension: int,
        lexical: Collection[str],
    ) -> Prepared | None:
        """The vectors of what the words found, and what was stored since the last search."""
        model = model_number(rows.connection, name, dimension)
        if model is None:
            return None
        self._vectors.refresh(rows.connection, tenant.id, model, dimension)
        kept = self._vectors.kept(rows.connection, tenant.id, model, lexical)
        return Prepared(model, frozenset(lexical), kept)

    def nearest(
        self, rows: SqliteArtifactRows, query: DenseQuery, times: Times, *, limit: int
    ) -> Nearest:
        """The nearest `limit` artifacts of the tenant made before the end of the times."""
        near = self._vectors.search(rows.connection, query.tenant.id, query.model, query.vector)
        # Some hundreds, of which the first that may be seen are read, some at a time.
        candidates = list(near)
        found: dict[int, Document] = {}
        for start in range(0, len(candidates), limit):
            some = candidates[start : start + limit]
            found |= rows.documents_of(query.tenant, some, before=times.end)
            if len(found) >= limit:
                break
        nearest = dict(islice(found.items(), limit))
        cosines = {document.artifact_id: near[row] for row, document in nearest.items()}
        return Nearest(list(nearest.values()), cosines)

    def cosines(
        self,
        rows: SqliteArtifactRows,
        query: DenseQuery,
        artifact_ids: Sequence[str],
        prepared: Prepared | None,
    ) -> Mapping[str, float]:
        """The cosine of each of these and of what was prepared, where there is a vector."""
        tenant, model = query.tenant.id, query.model
        if prepared is None or prepared.model != model:
            prepared = Prepared(model, frozenset(), [])
        others = [name for name in artifact_ids if name not in prepared.artifact_ids]
        kept = [*prepared.kept, *self._vectors.kept(rows.connection, tenant, model, others)]
        return self._vectors.cosines(tenant, model, query.vector, kept)

    def forget(self, tenant_id: int) -> None:
        """Drop what is in memory of a tenant."""
        self._vectors.forget(tenant_id)
