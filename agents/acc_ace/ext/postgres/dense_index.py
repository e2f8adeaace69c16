"""Semantic search in PostgreSQL, in addition to lexical search. The server needs pgvector."""

from collections.abc import Collection, Mapping, Sequence

from acc_ace.ext.postgres.artifact_rows import PostgresArtifactRows
from acc_ace.ext.postgres.database import PostgresDatabase
from acc_ace.ext.postgres.vectors import PostgresVectors, model_number, other_dimension
from acc_ace.ext.semantic.sql_dense import SqlDense
from acc_ace.memory.artifact_store import Embedder
from acc_ace.storage.dense_search import DenseQuery, Nearest, Prefetch
from acc_ace.storage.tenant_rows import TenantTotals, Times


class PostgresDense(SqlDense[PostgresArtifactRows]):
    """Semantic search with vectors in the same PostgreSQL database."""

    def __init__(self, database: PostgresDatabase, embedder: Embedder) -> None:
        vectors = PostgresVectors(database)
        super().__init__(embedder, vectors, _PostgresSearch(vectors))


class _PostgresSearch:
    """A VectorSearch over PostgresVectors."""

    def __init__(self, vectors: PostgresVectors) -> None:
        self._vectors = vectors

    def model_number(self, rows: PostgresArtifactRows, name: str, dimension: int) -> int | None:
        """The number of a model; None if it has embedded nothing with this dimension."""
        return model_number(rows.connection, name, dimension)

    def other_dimension(
        self, rows: PostgresArtifactRows, tenant: TenantTotals, name: str, dimension: int
    ) -> int | None:
        """Another dimension of this model's stored vectors, from before it changed, or None."""
        return other_dimension(rows.connection, tenant.id, name, dimension)

    def prepare(
        self,
        rows: PostgresArtifactRows,
        tenant: TenantTotals,
        name: str,
        dimension: int,
        lexical: Collection[str],
    ) -> Prefetch | None:
        """Return None: the server compares the vectors, so there is nothing to load."""
        return None

    def nearest(
        self, rows: PostgresArtifactRows, query: DenseQuery, times: Times, *, limit: int
    ) -> Nearest:
        """The tenant's nearest `limit` artifacts created before the end of the time range."""
        before = times.end if times.has_end else None
        near = self._vectors.search(rows.connection, query, before=before, limit=limit)
        return Nearest(rows.documents_of(query.tenant, list(near)), near)

    def cosines(
        self,
        rows: PostgresArtifactRows,
        query: DenseQuery,
        artifact_ids: Sequence[str],
        prepared: Prefetch | None,
    ) -> Mapping[str, float]:
        """The cosine of each artifact that has a vector."""
        return self._vectors.cosines(rows.connection, query, artifact_ids)

    def forget(self, tenant_id: int) -> None:
        """Do nothing: tenant numbers are never reused, so cached data is never read again."""
