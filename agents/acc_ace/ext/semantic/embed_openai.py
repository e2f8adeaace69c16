"""Embeddings from an OpenAI-compatible endpoint, with nothing but httpx."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import httpx
from pydantic import SecretStr

from acc_ace.core.text.duplicates import Vector, unit_vector
from acc_ace.errors import ModelOutputError, ModelUnavailable, TextRefusedError
from acc_ace.models.endpoint import checked_url, http_client, pieces_of

PREFIX = "openai/"

BATCH = 32
"""Texts of one call."""

MAX_CHARS = 8_000
"""Characters of one text that are sent: most endpoints take 8,192 tokens and no more."""

_TOO_LONG = "too large to process"
"""What llama.cpp says, with HTTP 500, of a text longer than its physical batch."""

MAX_REPLY_BYTES = 16 * 1024 * 1024
"""Longest reply that is read: 32 vectors of 4,000 numbers as text are about 3 MB."""


class OpenAIEmbedder:
    """`openai/<model>`: POST {base_url}/embeddings. One call is one try.

    Many models want a text of their own before a question and before a passage; endpoints do not
    say which, so they are settings.

    Raises ModelUnavailable on 408, 429 and 5xx, ModelRefused on other statuses, TextRefusedError
    on a 500 that means a text too long, ModelOutputError for a reply that cannot be read; network
    errors are httpx's.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: SecretStr | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        dimensions: int | None = None,
        timeout_s: float = 10.0,
    ) -> None:
        self.model = model + _mark(passage_prefix)
        self.dimension: int | None = None
        self._asked_model = model.removeprefix(PREFIX)
        self._query_prefix = query_prefix
        self._passage_prefix = passage_prefix
        setting = "ACC_ACE_EMBEDDER__BASE_URL or ACC_ACE_OPENAI_BASE_URL"
        self._base_url = checked_url(base_url, setting)
        self._api_key = api_key
        self._dimensions = dimensions
        self._timeout_s = timeout_s

    async def query(self, text: str) -> Vector:
        """The vector of a question."""
        return (await self._embed([text], self._query_prefix))[0]

    async def passages(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors of texts, at most BATCH a call."""
        vectors: list[Vector] = []
        for first in range(0, len(texts), BATCH):
            vectors += await self._embed(texts[first : first + BATCH], self._passage_prefix)
        return vectors

    async def close(self) -> None:
        """Nothing stays open between calls."""

    async def _embed(self, texts: Sequence[str], prefix: str) -> list[Vector]:
        body: dict[str, Any] = {
            "model": self._asked_model,
            # Endpoints refuse an empty text.
            "input": [prefix + (text[:MAX_CHARS] if text.strip() else "-") for text in texts],
            "encoding_format": "float",
        }
        if self._dimensions:
            body["dimensions"] = self._dimensions
        vectors = self._vectors(await self._reply(body), len(texts))
        self.dimension = len(vectors[0])
        return vectors

    async def _reply(self, body: dict[str, Any]) -> bytes:
        timeout = httpx.Timeout(self._timeout_s)
        try:
            async with (
                http_client(self._base_url, self._api_key, timeout) as client,
                client.stream("POST", "embeddings", json=body) as response,
            ):
                pieces = pieces_of(response, f"embedder {self.model}", most=MAX_REPLY_BYTES)
                return b"".join([piece async for piece in pieces])
        except ModelUnavailable as error:
            if _TOO_LONG in str(error):
                raise TextRefusedError(str(error)) from error.__cause__
            raise

    def _vectors(self, reply: bytes, expected: int) -> list[Vector]:
        """The vectors in the order of the texts; endpoints may answer in another."""
        try:
            items = sorted(json.loads(reply)["data"], key=lambda item: item["index"])
            vectors = [unit_vector(item["embedding"]) for item in items]
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise ModelOutputError(
                f"embedder {self.model} sent a reply without vectors "
                f"({type(error).__name__}: {error})"
            ) from error
        if len(vectors) != expected or len(set(map(len, vectors))) != 1:
            raise ModelOutputError(
                f"embedder {self.model} sent {len(vectors)} vectors for {expected} texts, or of "
                "different dimensions"
            )
        return vectors


def _mark(passage_prefix: str) -> str:
    """Distinguishes vectors of different passage prefixes, as if of two models."""
    if not passage_prefix:
        return ""
    return f"#{hashlib.sha256(passage_prefix.encode('utf-8', 'replace')).hexdigest()[:8]}"
