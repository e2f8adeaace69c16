"""Recall by meaning beside the words of an artifact store in a SQL database.

The embedder is asked while the words are searched; without an answer recall goes on by words.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Generic, NamedTuple, Protocol, TypeVar

from acc_ace.errors import EmbedderError
from acc_ace.memory.artifact_store import Embedder, VectorStore
from acc_ace.memory.embedding_backfill import EmbeddingBackfill
from acc_ace.memory.ranking import Document
from acc_ace.storage.sql_artifact_pool import ArtifactRows
from acc_ace.storage.tenant_rows import TenantTotals, Times
from acc_ace.text.duplicates import Vector

_log = logging.getLogger(__name__)


class QueryVector(NamedTuple):
    """The vector of x_t, or None with what the user should know, if anything."""

    vector: Vector | None = None
    warning: str = ""


class DensePool(NamedTuple):
    """What is near in meaning: documents by id, cosines by id, and what to tell the user."""

    documents: Mapping[str, Document]
    cosines: Mapping[str, float]
    warnings: list[str]


class DenseQuery(NamedTuple):
    """What is looked for, by whom, among the vectors of which model."""

    tenant: TenantTotals
    model: int
    vector: Vector


KeptVector = tuple[str, bytes]
"""The id of an artifact and the stored vector of one of its parts."""


class Prepared(NamedTuple):
    """Vectors that were read while the one of the question was on its way."""

    model: int
    artifact_ids: frozenset[str]
    """Whose vectors were looked for; some have none."""
    kept: Sequence[KeptVector]


@asynccontextmanager
async def asking(
    embedder: Embedder | None, text: str
) -> AsyncIterator["asyncio.Task[QueryVector]"]:
    """The vector of a text on its way; it is given up when the context ends without it."""
    task = asyncio.create_task(_ask(embedder, text))
    try:
        yield task
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait([task])


def dimension_changed(model: str, *, before: int, now: int) -> str:
    """What the user should know when an embedder gives other vectors under the same name."""
    return (
        f"embedder {model} gives vectors of {now} numbers now, of {before} before; what was "
        "stored is being embedded again, and found by its words until then"
    )


async def _ask(embedder: Embedder | None, text: str) -> QueryVector:
    # A text without a letter or digit has no meaning to look for.
    if embedder is None or not any(map(str.isalnum, text)):
        return QueryVector()
    try:
        return QueryVector(await embedder.query(text))
    except EmbedderError as error:
        _log.warning("embedder_failed %s", error)
        return QueryVector(warning=f"recalled by words alone: {error}")


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
        self.filler = EmbeddingBackfill(vectors, embedder)
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


NO_MODEL = 0
"""What was never embedded has this in place of a model's number; those begin at 1."""

_HIGHEST = 2**31 - 1


def ranges_without(number: int | None) -> Sequence[tuple[int, int]]:
    """All numbers but this one, as ranges from the first to be embedded to the last.

    What was never embedded goes first: with another model, all that was stored before is to be
    done again, and a new turn should not wait for it. Ranges, because an index is read through for
    'not equal'. A model without a number (None) has embedded nothing.
    """
    known = number or NO_MODEL
    return (NO_MODEL, NO_MODEL), (NO_MODEL + 1, known - 1), (known + 1, _HIGHEST)
