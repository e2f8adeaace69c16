"""Recall by meaning beside the words of a SqliteArtifactStore. Needs numpy."""

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from core.adapters.dense_query import DensePool, dimension_changed
from core.adapters.fts_pool import documents_of, neighbours
from core.adapters.fts_tenant import TenantTotals
from core.adapters.sqlite_database import SqliteDatabase
from core.adapters.sqlite_vectors import KeptVector, SqliteVectors, model_number, other_dimension
from core.adapters.vector_filling import VectorFiller
from core.domain.ranking import Document
from core.domain.vectors import Vector
from core.ports.embedder import Embedder

_POOL = 64
"""Artifacts nearest in meaning that are ranked."""

_LEADS = 16
"""Those of them whose neighbouring turns are ranked too."""


class Prepared(NamedTuple):
    """Vectors that were read while the one of the question was on its way."""

    model: int
    artifact_ids: frozenset[str]
    """Whose vectors were looked for; some have none."""
    kept: list[KeptVector]


class SqliteDense:
    """The embedder of a store, its vectors, and the task that fills them in."""

    def __init__(self, database: SqliteDatabase, embedder: Embedder, *, memory_bytes: int) -> None:
        self.embedder = embedder
        self._vectors = SqliteVectors(database, memory_bytes=memory_bytes)
        self.filler = VectorFiller(self._vectors, embedder)

    def prepare(
        self, connection: sqlite3.Connection, tenant: TenantTotals, lexical: Collection[str]
    ) -> Prepared | None:
        """What can be read before the vector of the question is there; None if nothing can."""
        name, dimension = self.embedder.model, self.embedder.dimension
        model = model_number(connection, name, dimension) if dimension is not None else None
        if dimension is None or model is None:
            return None
        self._vectors.refresh(connection, tenant.id, model, dimension)
        kept = self._vectors.kept(connection, tenant.id, model, lexical)
        return Prepared(model, frozenset(lexical), kept)

    def pool(
        self,
        connection: sqlite3.Connection,
        tenant: TenantTotals,
        vector: Vector,
        lexical: Mapping[str, Document],
        *,
        before: datetime | None,
        prepared: Prepared | None = None,
    ) -> DensePool:
        """What is near `vector` and what stands beside it, with the cosines of `lexical` too."""
        name = self.embedder.model
        earlier = other_dimension(connection, tenant.id, name, len(vector))
        warnings = [dimension_changed(name, before=earlier, now=len(vector))] if earlier else []
        model = model_number(connection, name, len(vector))
        if model is None:
            return DensePool({}, {}, warnings)
        near = self._vectors.search(connection, tenant.id, model, vector)
        nearest = _nearest(connection, tenant, list(near), before=before)
        leads = list(nearest.values())[:_LEADS]
        beside = neighbours(connection, tenant, leads, before=before)
        added = {document.artifact_id: document for document in (*nearest.values(), *beside)}
        cosines = {document.artifact_id: near[row] for row, document in nearest.items()}
        if prepared is None or prepared.model != model:
            prepared = Prepared(model, frozenset(), [])
        done = prepared.artifact_ids | cosines.keys()
        # In the order of the pool, so that the last digits never depend on luck.
        others = [name for name in {**lexical, **added} if name not in done]
        kept = [*prepared.kept, *self._vectors.kept(connection, tenant.id, model, others)]
        cosines |= self._vectors.cosines(tenant.id, model, vector, kept)
        return DensePool(added, cosines, warnings)

    def forget(self, tenant: int) -> None:
        """Drop what is in memory of a tenant; on the database's thread."""
        self._vectors.forget(tenant)


def _nearest(
    connection: sqlite3.Connection,
    tenant: TenantTotals,
    rows: Sequence[int],
    *,
    before: datetime | None,
) -> dict[int, Document]:
    """The documents of the first rows that may be seen, by row, at most as many as are ranked."""
    found: dict[int, Document] = {}
    for start in range(0, len(rows), _POOL):
        found |= documents_of(connection, tenant, rows[start : start + _POOL], before=before)
        if len(found) >= _POOL:
            break
    return dict(islice(found.items(), _POOL))
