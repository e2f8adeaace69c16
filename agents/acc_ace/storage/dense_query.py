"""Ask the embedder while the words are searched; without an answer recall goes on by words."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from acc_ace.errors import EmbedderError
from acc_ace.memory.artifact_store import Embedder
from acc_ace.memory.ranking import Document
from acc_ace.storage.tenant_totals import TenantTotals
from acc_ace.text.duplicates import Vector

_log = logging.getLogger(__name__)


class Asked(NamedTuple):
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
async def asking(embedder: Embedder | None, text: str) -> AsyncIterator["asyncio.Task[Asked]"]:
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


async def _ask(embedder: Embedder | None, text: str) -> Asked:
    # A text without a letter or digit has no meaning to look for.
    if embedder is None or not any(map(str.isalnum, text)):
        return Asked()
    try:
        return Asked(await embedder.query(text))
    except EmbedderError as error:
        _log.warning("embedder_failed %s", error)
        return Asked(warning=f"recalled by words alone: {error}")
