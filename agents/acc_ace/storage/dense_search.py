"""Search by meaning as the artifacts' store knows it: values, and a port of what searches.

The embedder runs during the lexical search; if it fails, recall is lexical only.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import NamedTuple, Protocol, TypeVar

from acc_ace.core.text.duplicates import Vector
from acc_ace.errors import EmbedderError
from acc_ace.memory.artifact_store import Embedder
from acc_ace.memory.ranking import Document
from acc_ace.storage.sql_artifact_pool import ArtifactRows
from acc_ace.storage.tenant_rows import TenantTotals

_log = logging.getLogger(__name__)

R_contra = TypeVar("R_contra", bound=ArtifactRows, contravariant=True)


class QueryVector(NamedTuple):
    """The vector of x_t, or None and a warning for the user, if any."""

    vector: Vector | None = None
    warning: str = ""


class DensePool(NamedTuple):
    """Semantic matches: documents by id, cosines by id, and warnings for the user."""

    documents: Mapping[str, Document]
    cosines: Mapping[str, float]
    warnings: list[str]


class DenseQuery(NamedTuple):
    """A query vector, with the tenant and the model to search."""

    tenant: TenantTotals
    model: int
    vector: Vector


KeptVector = tuple[str, bytes]
"""The id of an artifact and the stored vector of one of its chunks."""


class Prefetch(NamedTuple):
    """Vectors read while the query vector was being computed."""

    model: int
    artifact_ids: frozenset[str]
    """Artifacts whose vectors were read; some have none."""
    kept: Sequence[KeptVector]


class Nearest(NamedTuple):
    """The nearest documents, best first, and their cosines by id."""

    documents: Sequence[Document]
    cosines: Mapping[str, float]


class Backfill(Protocol):
    """Embeds what is stored, in the background."""

    def wake(self) -> None:
        """Start it, if there is something to do."""
        ...

    async def fill(self) -> int:
        """Run it now; return how many artifacts. Raises EmbedderError."""
        ...

    async def close(self) -> None:
        """Stop it."""
        ...


class DenseSearch(Protocol[R_contra]):
    """The embedder of a store, its vector search, and the embedding backfill."""

    @property
    def embedder(self) -> Embedder:
        """What makes vectors of texts."""
        ...

    @property
    def filler(self) -> Backfill:
        """The backfill."""
        ...

    def prepare(
        self, rows: R_contra, tenant: TenantTotals, lexical: Collection[str]
    ) -> Prefetch | None:
        """Vectors that can be read before the query vector is known; None if none can."""
        ...

    def pool(
        self,
        rows: R_contra,
        tenant: TenantTotals,
        vector: Vector,
        lexical: Mapping[str, Document],
        *,
        before: datetime | None,
        prepared: Prefetch | None = None,
    ) -> DensePool:
        """The nearest artifacts and their neighbours, with the cosines of `lexical` too."""
        ...

    def forget(self, tenant_id: int) -> None:
        """Drop a tenant's cached data."""
        ...


@asynccontextmanager
async def asking(
    embedder: Embedder | None, text: str
) -> AsyncIterator["asyncio.Task[QueryVector]"]:
    """Embed a text in a task, which is cancelled when the context ends before it."""
    task = asyncio.create_task(_ask(embedder, text))
    try:
        yield task
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait([task])


async def _ask(embedder: Embedder | None, text: str) -> QueryVector:
    # There is nothing to search for in a text without letters and digits.
    if embedder is None or not any(map(str.isalnum, text)):
        return QueryVector()
    try:
        return QueryVector(await embedder.query(text))
    except EmbedderError as error:
        _log.warning("embedder_failed %s", error)
        return QueryVector(warning=f"lexical recall only: {error}")


NO_MODEL = 0
"""The model number of artifacts never embedded; real ones start at 1."""

_HIGHEST = 2**31 - 1


def ranges_without(number: int | None) -> Sequence[tuple[int, int]]:
    """All model numbers except this one, as ranges in order of embedding.

    Artifacts never embedded come first: after a change of the model all stored ones are embedded
    again, and a new turn should not wait for them. Ranges, because 'not equal' would scan the whole
    index. A model without a number (None) has embedded nothing.
    """
    known = number or NO_MODEL
    return (NO_MODEL, NO_MODEL), (NO_MODEL + 1, known - 1), (known + 1, _HIGHEST)
