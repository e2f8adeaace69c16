"""Models behind an OpenAI-compatible endpoint, with nothing but httpx."""

import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import httpx
from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from pydantic import Field, PrivateAttr, SecretStr

from acc_ace.config import settings
from acc_ace.core.text.redaction import redact
from acc_ace.errors import ConfigError, ModelOutputError, ModelRefused, ModelUnavailable
from acc_ace.models.chat_reply import ChatReply
from acc_ace.models.chat_request import (
    Json,
    chat_body,
    json_schema_format,
    schema_asked,
    with_json_object,
)
from acc_ace.models.failures import RETRIED_STATUS

PREFIX = "openai/"

MAX_REPLY_BYTES = 8 * 1024 * 1024
"""Longest reply that is read, in bytes."""

_SCHEMA_REFUSED = frozenset({400, 422})
"""Statuses of endpoints that do not know `response_format: json_schema`."""


class OpenAICompatibleLlm(BaseLlm):
    """`openai/<model>`: POST {base_url}/chat/completions, text and tools, streamed or whole.

    Without a base URL it takes the endpoint and key of the settings, so that
    `LlmAgent(model="openai/…")` works. One call is one try, or two when the endpoint does not
    know JSON schemas: retries are ResilientLlm's.

    Raises ModelUnavailable on 408, 429 and 5xx, ModelRefused on other statuses, ModelOutputError
    for a reply that cannot be read, InputError for images, ConfigError for a base URL that is
    none; network errors are httpx's.
    """

    base_url: str | None = None
    api_key: SecretStr | None = Field(default=None, repr=False)
    timeout_s: float = 60.0
    reasoning_effort: str | None = None
    """How much the model thinks: 'none', 'minimal', 'low', 'medium', 'high'; None = its default."""

    _knows_schemas: bool = PrivateAttr(default=True)

    @classmethod
    def supported_models(cls) -> list[str]:
        """Names for ADK's registry; the very pattern of ADK's LiteLLM entry, to replace it."""
        return [r"openai/.*"]

    @property
    def capabilities(self) -> LlmCapabilities:
        """Takes an output schema together with tools."""
        return LlmCapabilities(output_schema_and_tools=True)

    @property
    def runs_here(self) -> bool:
        """Whether the endpoint is on this machine."""
        host = urlsplit(self._endpoint()).hostname or ""
        return host == "localhost" or host.startswith("127.") or host == "::1"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request; see the class for errors."""
        body = self._body(llm_request, stream=stream)
        schema = schema_asked(llm_request)
        reply = ChatReply(model=self.model)
        async with self._client() as client:
            async for chunk in self._completion(client, body, schema):
                for partial in reply.add(chunk):
                    if stream:
                        yield partial
        if stream and not reply.finished:
            raise ModelUnavailable(f"model {self.model} stopped before it finished")
        yield reply.whole()

    def _body(self, llm_request: LlmRequest, *, stream: bool) -> Json:
        # OpenAI's own endpoint has renamed the limit; the others know the old name.
        host = urlsplit(self._endpoint()).hostname or ""
        key = "max_completion_tokens" if host.endswith("openai.com") else "max_tokens"
        name = self.model.removeprefix(PREFIX)
        body = chat_body(llm_request, model=name, max_tokens_key=key)
        if self.reasoning_effort is not None:
            body["reasoning_effort"] = self.reasoning_effort
        if stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return body

    async def _completion(
        self, client: httpx.AsyncClient, body: Json, schema: Json | None
    ) -> AsyncIterator[Json]:
        """The chunks of a reply; asks again without a schema when the endpoint knows none."""
        # Noted before the call: another one may find out meanwhile that no schemas are known.
        with_schema = schema is not None and self._knows_schemas
        if schema is None:
            request = body
        elif with_schema:
            request = {**body, "response_format": json_schema_format(schema)}
        else:
            request = with_json_object(body, schema)
        async with client.stream("POST", "chat/completions", json=request) as response:
            refused = response.status_code in _SCHEMA_REFUSED
            if not (refused and schema is not None and with_schema):
                await self._require_ok(response)
                async for chunk in self._chunks(response):
                    yield chunk
                return
            first = await _reported(response)
        second = with_json_object(body, schema)
        async with client.stream("POST", "chat/completions", json=second) as response:
            await self._require_ok(response, before=first)
            self._knows_schemas = False
            async for chunk in self._chunks(response):
                yield chunk

    async def _chunks(self, response: httpx.Response) -> AsyncIterator[Json]:
        """The JSON objects of a reply: one of a whole completion, many of an event stream."""
        if "text/event-stream" not in response.headers.get("content-type", ""):
            yield self._parsed(await self._read(response))
            return
        size = 0
        async for line in response.aiter_lines():
            size += len(line)
            if size > MAX_REPLY_BYTES:
                raise self._too_long()
            field, _, data = line.partition(":")
            if field != "data":
                continue
            if data.strip() == "[DONE]":
                return
            yield self._parsed(data)

    async def _read(self, response: httpx.Response) -> bytes:
        pieces = bytearray()
        async for piece in response.aiter_bytes():
            pieces += piece
            if len(pieces) > MAX_REPLY_BYTES:
                raise self._too_long()
        return bytes(pieces)

    def _parsed(self, text: str | bytes) -> Json:
        try:
            value = json.loads(text)
        except ValueError as error:
            raise ModelOutputError(f"model {self.model} sent a reply that is not JSON") from error
        if not isinstance(value, dict):
            raise ModelOutputError(f"model {self.model} sent JSON that is not an object")
        return value

    async def _require_ok(self, response: httpx.Response, *, before: str = "") -> None:
        status = response.status_code
        if 200 <= status < 300:
            return
        reported = await _reported(response)
        also = f" (with a JSON schema: {before})" if before else ""
        text = f"model {self.model} answered HTTP {status}: {reported}{also}"
        kind = ModelUnavailable if status in RETRIED_STATUS or status >= 500 else ModelRefused
        # The cause carries the headers, among them Retry-After.
        cause = httpx.HTTPStatusError(text, request=response.request, response=response)
        raise kind(text) from cause

    def _too_long(self) -> ModelOutputError:
        return ModelOutputError(f"model {self.model} sent more than {MAX_REPLY_BYTES} bytes")

    def _endpoint(self) -> str:
        url = self.base_url or settings().openai_base_url
        if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
            raise ConfigError(
                f"ACC_ACE_OPENAI_BASE_URL: {redact(url)!r} is not an http(s) URL; use one such as "
                "'http://127.0.0.1:11434/v1'"
            )
        return url

    def _client(self) -> httpx.AsyncClient:
        # One client a call: it belongs to the running event loop, and agents outlive loops.
        key = self.api_key if self.base_url else settings().openai_api_key
        headers: dict[str, Any] = (
            {"Authorization": f"Bearer {key.get_secret_value()}"} if key else {}
        )
        return httpx.AsyncClient(
            base_url=self._endpoint().rstrip("/") + "/",
            headers=headers,
            timeout=self.timeout_s,
            verify=_tls(),
        )


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    """Certificates, read once: reading them takes longer than a local call."""
    return httpx.create_ssl_context()


async def _reported(response: httpx.Response) -> str:
    """What an error response says, bounded."""
    text = ""
    async for piece in response.aiter_text():
        text += piece
        if len(text) > MAX_REPLY_BYTES:
            break
    try:
        body = json.loads(text)
    except ValueError:
        body = text
    error = body.get("error", body) if isinstance(body, dict) else body
    message = error.get("message", error) if isinstance(error, dict) else error
    return " ".join(str(message).split())[:300] or response.reason_phrase
