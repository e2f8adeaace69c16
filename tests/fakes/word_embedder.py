"""An embedder for tests: texts about the same thing are near, whatever words they use."""

import asyncio
from collections.abc import Sequence

from acc_ace.core.text.duplicates import Vector, unit_vector
from acc_ace.errors import EmbedderError, TextRefusedError

TOPICS = (
    ("cat", "kitten", "feline", "猫", "子猫"),
    ("car", "vehicle", "automobile", "自動車"),
    ("rain", "weather", "storm", "天気"),
    ("money", "salary", "wage", "給料"),
)
"""Words of one line mean the same to this embedder; it knows no others."""


class TopicEmbedder:
    """An Embedder whose numbers are how often each topic is spoken of."""

    def __init__(self, *, model: str = "test/topics", dimension: int = 64) -> None:
        self.model = model
        self.dimension: int | None = None
        self.broken = ""
        """Why it fails; '' while it works."""
        self.refuses = ""
        """Texts that hold this are refused."""
        self.takes_s = 0.0
        """Time for a question."""
        self.asked: list[str] = []
        self.embedded: list[str] = []
        self._size = dimension
        self._expected = (0, asyncio.Event())

    async def query(self, text: str) -> Vector:
        self.asked.append(text)
        await asyncio.sleep(self.takes_s)
        return self._vector(text)

    async def passages(self, texts: Sequence[str]) -> list[Vector]:
        vectors = [self._vector(text) for text in texts]
        self.embedded += texts
        count, event = self._expected
        if len(self.embedded) >= count:
            event.set()
        return vectors

    async def close(self) -> None:
        self.broken = "closed"

    def expect(self, texts: int) -> asyncio.Event:
        """An event that is set when so many texts were embedded in all."""
        self._expected = (texts, asyncio.Event())
        return self._expected[1]

    def change_dimension(self, dimension: int, *, reported: bool = True) -> None:
        """Give other vectors from now on, under the same name; not told until one was given."""
        self._size = dimension
        if reported:
            self.dimension = None

    def _vector(self, text: str) -> Vector:
        if self.broken:
            raise EmbedderError(f"embedder {self.model} is {self.broken}")
        if self.refuses and self.refuses in text:
            raise TextRefusedError(f"embedder {self.model} refuses this text")
        self.dimension = self._size
        numbers = [0.05] * self._size
        for at, words in enumerate(TOPICS):
            numbers[at] += sum(text.lower().count(word) for word in words)
        return unit_vector(numbers)
