"""Embeddings from an OpenAI-compatible endpoint, with nothing but httpx."""

import hashlib
import json
import ssl
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from acc_ace.core.text.duplicates import Vector, unit_vector
from acc_ace.core.text.redaction import redact
from acc_ace.errors import (
    AccAceError,
    ConfigError,
    ModelOutputError,
    ModelRefused,
    ModelUnavailable,
    TextRefusedError,
)
from acc_ace.models.failures import RETRIED_STATUS

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
        if urlsplit(base_url).scheme not in {"http", "https"} or not urlsplit(base_url).hostname:
            raise ConfigError(
                f"ACC_ACE_EMBEDDER__BASE_URL or ACC_ACE_OPENAI_BASE_URL: {redact(base_url)!r} is "
                "not an http(s) URL; use one such as 'http://127.0.0.1:11434/v1'"
            )
        self.model = model + _mark(passage_prefix)
        self.dimension: int | None = None
        self._asked_model = model.removeprefix(PREFIX)
        self._query_prefix = query_prefix
        self._passage_prefix = passage_prefix
        self._base_url = base_url.rstrip("/") + "/"
        self._api_key = api_key
        self._dimensions = dimensions
        self._timeout_s = timeout_s

    async def query(self, text: str) -> Vector:
        """The vector of a question."""
        return (await self._embed([text], self._query_prefix))[0]

    async def passages(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors of texts, at most BATCH a call."""
        found: list[Vector] = []
        for first in range(0, len(texts), BATCH):
            found += await self._embed(texts[first : first + BATCH], self._passage_prefix)
        return found

    async def close(self) -> None:
        """Nothing is held between calls."""

    async def _embed(self, texts: Sequence[str], prefix: str) -> list[Vector]:
        body: dict[str, Any] = {
            "model": self._asked_model,
            # Endpoints refuse an empty text.
            "input": [prefix + (text[:MAX_CHARS] if text.strip() else "-") for text in texts],
            "encoding_format": "float",
        }
        if self._dimensions:
            body["dimensions"] = self._dimensions
        # One client a call: it belongs to the running event loop, and embedders outlive loops.
        async with (
            self._client() as client,
            client.stream("POST", "embeddings", json=body) as response,
        ):
            reply = await self._read(response)
        self._require_ok(response, reply)
        vectors = self._vectors(reply, len(texts))
        self.dimension = len(vectors[0])
        return vectors

    async def _read(self, response: httpx.Response) -> bytes:
        pieces = bytearray()
        async for piece in response.aiter_bytes():
            pieces += piece
            if len(pieces) > MAX_REPLY_BYTES:
                raise ModelOutputError(f"{self.model} sent more than {MAX_REPLY_BYTES} bytes")
        return bytes(pieces)

    def _require_ok(self, response: httpx.Response, reply: bytes) -> None:
        status = response.status_code
        if 200 <= status < 300:
            return
        reported = " ".join(reply[:2_000].decode("utf-8", "replace").split())[:300]
        text = f"embedder {self.model} answered HTTP {status}: {reported or response.reason_phrase}"
        # The cause carries the headers, among them Retry-After.
        cause = httpx.HTTPStatusError(text, request=response.request, response=response)
        raise _kind(status, reported)(text) from cause

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

    def _client(self) -> httpx.AsyncClient:
        key = self._api_key
        return httpx.AsyncClient(
            base_url=self._base_url,
            headers={"Authorization": f"Bearer {key.get_secret_value()}"} if key else {},
            timeout=self._timeout_s,
            verify=_tls(),
        )


def _kind(status: int, reported: str) -> type[AccAceError]:
    if status == 500 and _TOO_LONG in reported:
        return TextRefusedError
    return ModelUnavailable if status in RETRIED_STATUS or status >= 500 else ModelRefused


def _mark(passage_prefix: str) -> str:
    """Distinguishes vectors of different passage prefixes, as if of two models."""
    if not passage_prefix:
        return ""
    return f"#{hashlib.sha256(passage_prefix.encode('utf-8', 'replace')).hexdigest()[:8]}"


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    """Certificates, read once: reading them takes longer than a local call."""
    return httpx.create_ssl_context()
