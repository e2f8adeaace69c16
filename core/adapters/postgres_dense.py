"""Recall by meaning beside the words of a PostgresArtifactStore. The server needs pgvector."""

from collections.abc import Mapping
from datetime import datetime

from core.adapters.dense_query import DensePool, dimension_changed
from core.adapters.postgres_database import PostgresDatabase
from core.adapters.postgres_pool import TenantTotals, documents, neighbours
from core.adapters.postgres_schema import Connection
from core.adapters.postgres_vectors import PostgresVectors, Query, model_number, other_dimension
from core.adapters.vector_filling import VectorFiller
from core.domain.ranking import Document
from core.domain.vectors import Vector
from core.ports.embedder import Embedder

_POOL = 64
"""Artifacts nearest in meaning that are ranked."""

_LEADS = 16
"""Those of them whose neighbouring turns are ranked too."""


class PostgresDense:
    """The embedder of a store, its vectors, and the task that fills them in."""

    def __init__(self, database: PostgresDatabase, embedder: Embedder) -> None:
        self.embedder = embedder
        self._vectors = PostgresVectors(database)
        self.filler = VectorFiller(self._vectors, embedder)

    def pool(
        self,
        connection: Connection,
        tenant: TenantTotals,
        vector: Vector,
        lexical: Mapping[str, Document],
        *,
        before: datetime | None,
    ) -> DensePool:
        """What is near `vector` and what stands beside it, with the cosines of `lexical` too."""
        name = self.embedder.model
        earlier = other_dimension(connection, tenant.id, name, len(vector))
        warnings = [dimension_changed(name, before=earlier, now=len(vector))] if earlier else []
        model = model_number(connection, name, len(vector))
        if model is None:
            return DensePool({}, {}, warnings)
        query = Query(tenant.id, tenant.documents, model, vector)
        until = None if before is None else before.timestamp()
        near = self._vectors.search(connection, query, before=until, limit=_POOL)
        found = documents(connection, tenant, list(near))
        found += neighbours(connection, tenant, found[:_LEADS], before=before)
        added = {document.artifact_id: document for document in found}
        others = [name for name in {**lexical, **added} if name not in near]
        cosines = {**near, **self._vectors.cosines(connection, query, others)}
        return DensePool(added, cosines, warnings)
