"""Embedding backfill: create missing vectors in the background, a few artifacts at a time.

When a batch fails, halving it separates a bad text from a failing endpoint.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from acc_ace.core.text.duplicates import Vector
from acc_ace.errors import AccAceError, EmbedderError, TextRefusedError
from acc_ace.memory.artifact_store import Embedded, Embedder, Unembedded, VectorStore
from acc_ace.memory.passages import Passage, passages_of

PROBE = "A short text."
"""A short text that any working endpoint accepts."""


class Batch(NamedTuple):
    """Result of a batch; an artifact in neither list was not tried."""

    embedded: Sequence[Embedded]
    """Embedded artifacts; without vectors if the embedder refuses their text for good."""
    failed: Mapping[int, EmbedderError] = {}
    """Rows that failed while other texts succeeded; they are retried later."""
    stopped: EmbedderError | None = None
    """Why the rest was not tried: the embedder fails for every text."""


async def embed_batch(embedder: Embedder, batch: Sequence[Unembedded]) -> Batch:
    """Embed a few artifacts; one text at a time if the batch fails."""
    try:
        return Batch(await _at_once(embedder, batch))
    except EmbedderError:
        return await _one_by_one(embedder, batch)


async def _at_once(embedder: Embedder, batch: Sequence[Unembedded]) -> list[Embedded]:
    passages = [passages_of(item.content, item.before) for item in batch]
    texts = [text for parts in passages for passage in parts for text in passage.texts]
    vectors = iter(await embedder.passages(texts))
    return [
        Embedded(item.row, [_vector(passage, vectors) for passage in parts])
        for item, parts in zip(batch, passages, strict=True)
    ]


def _vector(passage: Passage, vectors: Iterator[Vector]) -> Vector:
    return passage.vector([next(vectors) for _ in passage.texts])


async def _one_by_one(embedder: Embedder, batch: Sequence[Unembedded]) -> Batch:
    single = _SingleTexts(embedder)
    embedded: list[Embedded] = []
    failed: dict[int, EmbedderError] = {}
    for item in batch:
        try:
            embedded.append(await single.embedded(item))
        except EmbedderError as error:
            # Earlier successes prove nothing: it may have started to fail since.
            if not await single.takes_probe():
                return Batch(embedded, failed, error)
            _log.warning("artifact_put_off row=%d %s", item.row, error)
            failed[item.row] = error
    return Batch(embedded, failed)


class _SingleTexts:
    """Embeds artifacts one text a call, so that a refusal is of that text and no other."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def embedded(self, item: Unembedded) -> Embedded:
        """Embed the parts that are not refused. Raises EmbedderError for any other failure."""
        vectors: list[Vector] = []
        for passage in passages_of(item.content, item.before):
            taken = [
                vector
                for text in passage.texts
                if (vector := await self._of_text(text, item.row)) is not None
            ]
            if taken:
                vectors.append(passage.vector(taken))
        return Embedded(item.row, vectors)

    async def takes_probe(self) -> bool:
        """Whether the embedder accepts a short text now."""
        try:
            await self._embedder.passages([PROBE])
        except EmbedderError:
            return False
        return True

    async def _of_text(self, text: str, row: int) -> Vector | None:
        """None for a text that is refused while another is not."""
        try:
            (vector,) = await self._embedder.passages([text])
        except TextRefusedError as error:
            # When everything is refused, no text is at fault. Checked at each refusal: a key may
            # expire, or a model be unloaded, at any time.
            if not await self.takes_probe():
                raise
            _log.warning("text_not_embedded row=%d %s", row, error)
            return None
        return vector


_BATCH = 16
"""Artifacts read, embedded and stored at once."""

_MOST_PUT_OFF = 64
"""Artifacts that may be postponed because they alone fail; beyond it, the backfill pauses."""

_REST_S = 60.0
"""Seconds to pause after the embedder or the store failed."""

_MOST_DIMENSIONS = 2
"""Vector lengths in one run: that before a change of model, and that after it."""

_log = logging.getLogger(__name__)


class EmbeddingBackfill:
    """Creates missing vectors while the event loop that woke it runs; one task at a time."""

    def __init__(
        self,
        store: VectorStore,
        embedder: Embedder,
        *,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None
        self._rest_until = float("-inf")
        self._put_off: dict[int, EmbedderError] = {}
        self._put_off_until = float("-inf")
        self._asked_again = False

    def wake(self) -> None:
        """Start the backfill, unless it is running or failed a moment ago."""
        self._asked_again = True
        if self._is_running() or self._seconds() < self._rest_until:
            return
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def fill(self) -> int:
        """Embed until nothing is missing; how many artifacts, those started before not counted.

        Raises EmbedderError and StoreError; what was done until then is kept.
        """
        if self._task is not None and self._is_running():
            await asyncio.wait([self._task])
        self._put_off.clear()
        done = await self._fill()
        if self._put_off:
            raise next(iter(self._put_off.values()))
        return done

    async def _fill(self) -> int:
        done = 0
        # Another dimension makes every artifact count as missing: an embedder that alternates
        # between two would be called forever.
        seen: list[int] = []
        if self._seconds() >= self._put_off_until:
            self._put_off.clear()
        while batch := await self._next():
            made = await embed_batch(self._embedder, batch)
            if made.embedded:
                await self._keep(made.embedded, seen)
                done += len(made.embedded)
            if made.stopped:
                raise made.stopped
            self._put_off_for_now(made.failed)
        return done

    def _put_off_for_now(self, failed: Mapping[int, EmbedderError]) -> None:
        """Postpone artifacts for _REST_S, so that they do not block others."""
        if failed and not self._put_off:
            self._put_off_until = self._seconds() + _REST_S
        self._put_off |= failed
        if len(self._put_off) >= _MOST_PUT_OFF:
            raise next(iter(self._put_off.values()))

    async def _next(self) -> list[Unembedded]:
        """The newest artifacts without vectors, except postponed ones."""
        missing = await self._store.unembedded(
            self._embedder.model, self._embedder.dimension, limit=_BATCH + len(self._put_off)
        )
        return [item for item in missing if item.row not in self._put_off][:_BATCH]

    async def _keep(self, embedded: Sequence[Embedded], seen: list[int]) -> None:
        """Store vectors; `seen` are the lengths of those before, each time they changed."""
        dimension = self._dimension_of(embedded)
        if seen[-1:] != [dimension]:
            seen.append(dimension)
        if len(seen) > _MOST_DIMENSIONS:
            raise EmbedderError(
                f"embedder {self._embedder.model} keeps changing the dimensions of its vectors "
                f"({', then '.join(map(str, seen))} numbers)"
            )
        await self._store.keep(self._embedder.model, dimension, embedded)

    def _dimension_of(self, embedded: Sequence[Embedded]) -> int:
        """Dimensions of the vectors; a query may have changed what the embedder reports."""
        lengths = {len(vector) for item in embedded for vector in item.vectors}
        if len(lengths) > 1:
            raise EmbedderError(
                f"embedder {self._embedder.model} returned vectors of {sorted(lengths)} dimensions"
            )
        dimension = lengths.pop() if lengths else self._embedder.dimension
        if dimension is None:
            raise EmbedderError(f"embedder {self._embedder.model} reports no dimensions")
        return dimension

    async def close(self) -> None:
        """Stop; the next process continues."""
        if self._is_running() and self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._task = None

    def _is_running(self) -> bool:
        """Whether a task runs on this loop; a task of a closed loop never resumes."""
        task = self._task
        return (
            task is not None and not task.done() and task.get_loop() is asyncio.get_running_loop()
        )

    async def _run(self) -> None:
        try:
            while self._asked_again:
                self._asked_again = False
                await self._fill()
        except AccAceError as error:
            # A background task: recall stays lexical, and warns when it needs a vector.
            self._rest_until = self._seconds() + _REST_S
            _log.warning("embedding_failed code=%s %s", error.code, error)
