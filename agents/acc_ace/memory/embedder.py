"""Text embeddings."""

from collections.abc import Sequence
from typing import Protocol

from acc_ace.text.dense_vectors import Vector


class Embedder(Protocol):
    """Embed queries and passages, which a model may treat differently.

    Every vector is of unit length (L2) and of one dimension. Both methods raise EmbedderError,
    naming the model, when it gives no vectors (TextRefusedError when it does not take a text);
    ConfigError when a setting or key is wrong.
    """

    @property
    def model(self) -> str:
        """Name of the model; vectors of different models are never compared."""
        ...

    @property
    def dimension(self) -> int | None:
        """Dimensions of a vector; None until the first one was created."""
        ...

    async def query(self, text: str) -> Vector:
        """Embed a query."""
        ...

    async def passages(self, texts: Sequence[str]) -> list[Vector]:
        """Embed stored texts; the vectors are in the same order."""
        ...

    async def close(self) -> None:
        """Release resources; further use raises EmbedderError."""
        ...
