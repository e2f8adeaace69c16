"""Recall by meaning beside the words of a PostgresArtifactStore. The server needs pgvector."""

from collections.abc import Collection, Mapping, Sequence

from acc_ace.memory.artifact_store import Embedder
from acc_ace.storage.postgres.artifact_rows import PostgresArtifactRows
from acc_ace.storage.postgres.database import PostgresDatabase
from acc_ace.storage.postgres.vectors import PostgresVectors, model_number, other_dimension
from acc_ace.storage.sql_dense import DenseQuery, Nearest, Prepared, SqlDense
from acc_ace.storage.tenant_rows import TenantTotals, Times


class PostgresDense(SqlDense[PostgresArtifactRows]):
    """The embedder of a PostgresArtifactStore, with vectors in the same database."""

    def __init__(self, database: PostgresDatabase, embedder: Embedder) -> None:
        vectors = PostgresVectors(database)
        super().__init__(embedder, vectors, _Search(vectors))


class _Search:
    """A VectorSearch over PostgresVectors."""

    def __init__(self, vectors: PostgresVectors) -> None:
        self._vectors = vectors

    def model_number(self, rows: PostgresArtifactRows, name: str, dimension: int) -> int | None:
        """The number of a model; None when nothing was embedded with this dimension."""
        return model_number(rows.connection, name, dimension)

    def other_dimension(
        self, rows: PostgresArtifactRows, tenant: TenantTotals, name: str, dimension: int
    ) -> int | None:
        """The dimension of vectors that this model gave before it changed, if any is left."""
        return other_dimension(rows.connection, tenant.id, name, dimension)

    def prepare(
        self,
        rows: PostgresArtifactRows,
        tenant: TenantTotals,
        name: str,
        dimension: int,
        lexical: Collection[str],
    ) -> Prepared | None:
        """None: the server compares its vectors, so that none are read."""
        return None

    def nearest(
        self, rows: PostgresArtifactRows, query: DenseQuery, times: Times, *, limit: int
    ) -> Nearest:
        """The nearest `limit` artifacts of the tenant made before the end of the times."""
        before = times.end if times.has_end else None
        near = self._vectors.search(rows.connection, query, before=before, limit=limit)
        return Nearest(rows.documents_of(query.tenant, list(near)), near)

    def cosines(
        self,
        rows: PostgresArtifactRows,
        query: DenseQuery,
        artifact_ids: Sequence[str],
        prepared: Prepared | None,
    ) -> Mapping[str, float]:
        """The cosine of each of these, where there is a vector."""
        return self._vectors.cosines(rows.connection, query, artifact_ids)

    def forget(self, tenant_id: int) -> None:
        """Nothing: no tenant's number is given again, so that what is in memory is never used."""
