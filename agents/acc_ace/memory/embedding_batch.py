"""Embed a few artifacts at once; when that fails, tell a text's fault from the endpoint's.

What a text alone is to blame for must hold up no other, and is not tried again; what the endpoint
is to blame for may pass, and must lose nothing. Whether the endpoint takes a short text just now
tells the two apart.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from acc_ace.errors import EmbedderError, TextRefusedError
from acc_ace.memory.embedder import Embedder
from acc_ace.memory.passages import Passage, passages_of
from acc_ace.memory.vector_store import Embedded, Unembedded
from acc_ace.text.dense_vectors import Vector

PROBE = "A short text."
"""What an endpoint that works takes."""

_log = logging.getLogger(__name__)


class Batch(NamedTuple):
    """What became of a few artifacts; one in neither was not come to."""

    embedded: Sequence[Embedded]
    """With their vectors; without any when the embedder refuses their text for good."""
    failed: Mapping[int, EmbedderError] = {}
    """By row, those that the embedder failed at while it took other texts; it may yet do them."""
    stopped: EmbedderError | None = None
    """Why the rest was not tried: the embedder takes no text at all."""


async def embed_batch(embedder: Embedder, batch: Sequence[Unembedded]) -> Batch:
    """The vectors of a few artifacts; one text at a time when not all can be had at once."""
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
    found: list[Embedded] = []
    failed: dict[int, EmbedderError] = {}
    for item in batch:
        try:
            found.append(await single.embedded(item))
        except EmbedderError as error:
            # Never by what was taken before: it may have begun to fail since.
            if not await single.takes_probe():
                return Batch(found, failed, error)
            _log.warning("artifact_put_off row=%d %s", item.row, error)
            failed[item.row] = error
    return Batch(found, failed)


class _SingleTexts:
    """Embeds artifacts one text a call, so that a refusal is of that text and no other."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def embedded(self, item: Unembedded) -> Embedded:
        """The vectors of the parts that are not refused. Raises EmbedderError for any other end."""
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
        """Whether the embedder takes a short text now."""
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
            # When everything is refused, it is no text's fault. Asked at each refusal: a key may
            # expire, or a model be unloaded, after any number of texts that were taken.
            if not await self.takes_probe():
                raise
            _log.warning("text_not_embedded row=%d %s", row, error)
            return None
        return vector
