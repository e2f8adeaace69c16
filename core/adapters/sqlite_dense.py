"""Recall by meaning beside the words of a SqliteArtifactStore. Needs numpy."""

import sqlite3
from collections.abc import Mapping
from datetime import datetime

from core.adapters.dense_query import DensePool, dimension_changed
from core.adapters.fts_pool import TenantTotals, documents, neighbours
from core.adapters.sqlite_database import SqliteDatabase
from core.adapters.sqlite_vectors import SqliteVectors, model_number, other_dimension
from core.adapters.vector_filling import VectorFiller
from core.domain.ranking import Document
from core.domain.vectors import Vector
from core.ports.embedder import Embedder

_POOL = 64
"""Artifacts nearest in meaning that are ranked."""

_LEADS = 16
"""Those of them whose neighbouring turns are ranked too."""


class SqliteDense:
    """The embedder of a store, its vectors, and the task that fills them in."""

    def __init__(self, database: SqliteDatabase, embedder: Embedder, *, memory_bytes: int) -> None:
        self.embedder = embedder
        self._vectors = SqliteVectors(database, memory_bytes=memory_bytes)
        self.filler = VectorFiller(self._vectors, embedder)

    def pool(
        self,
        connection: sqlite3.Connection,
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
        until = None if before is None else before.timestamp()
        near = self._vectors.search(connection, tenant.id, model, vector, before=until, limit=_POOL)
        found = documents(connection, tenant, [item.artifact_id for item in near])
        found += neighbours(connection, tenant, found[:_LEADS], before=before)
        added = {document.artifact_id: document for document in found}
        cosines = {item.artifact_id: item.cosine for item in near}
        others = [name for name in {**lexical, **added} if name not in cosines]
        cosines |= self._vectors.cosines(connection, tenant.id, model, vector, others)
        return DensePool(added, cosines, warnings)

    def forget(self, tenant: int) -> None:
        """Drop what is in memory of a tenant; on the database's thread."""
        self._vectors.forget(tenant)
