"""Embed what is stored, in the background, a few artifacts at a time.

An artifact is found by its words as soon as it is stored, and by its meaning a moment later. What
is still to be done stands in the store itself, so nothing is lost when the process ends: the next
process goes on, and a new model or dimension makes every artifact count as not done. What failed
for a reason that may pass is not done either; what the embedder refuses is, without vectors.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence

from acc_ace.errors import AccAceError, EmbedderError
from acc_ace.memory.embedder import Embedder
from acc_ace.memory.embedding_batch import embed_batch
from acc_ace.memory.vector_store import Embedded, Unembedded, VectorStore

_BATCH = 16
"""Artifacts read, embedded and stored at once."""

_MOST_PUT_OFF = 64
"""Artifacts that are left aside because the embedder fails at them alone; then it rests."""

_REST_S = 60.0
"""Time for which nothing is tried after the embedder or the store failed."""

_MOST_DIMENSIONS = 2
"""Lengths of vectors in one go: that of before a model changed, and that of after."""

_log = logging.getLogger(__name__)


class VectorFiller:
    """Fills in missing vectors while the event loop that woke it runs; one task at a time."""

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
        """Begin to fill in, unless that goes on already or failed a moment ago."""
        self._asked_again = True
        if self._is_running() or self._seconds() < self._rest_until:
            return
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def fill(self) -> int:
        """Embed until nothing is missing; how many artifacts, those begun before not counted.

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
        # Another dimension makes everything count as not done: an embedder that gives now the one,
        # now the other would be asked without end.
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
        """Leave artifacts aside for _REST_S, so that they keep no other waiting."""
        if failed and not self._put_off:
            self._put_off_until = self._seconds() + _REST_S
        self._put_off |= failed
        if len(self._put_off) >= _MOST_PUT_OFF:
            raise next(iter(self._put_off.values()))

    async def _next(self) -> list[Unembedded]:
        """The newest artifacts without vectors but those put off."""
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
        """The length of the vectors; a question may have changed what the embedder tells."""
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
        """Stop; what is missing is done by the next process."""
        if self._is_running() and self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._task = None

    def _is_running(self) -> bool:
        """Whether a task runs on this loop; one of a loop that ended never comes back."""
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
            # Nobody waits for this: recall goes on by words, and says so when it asks in vain.
            self._rest_until = self._seconds() + _REST_S
            _log.warning("embedding_failed code=%s %s", error.code, error)
