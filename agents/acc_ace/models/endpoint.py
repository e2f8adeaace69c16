"""Calls to models over httpx: the address of an endpoint, its bounds and its errors."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from acc_ace.core.text.redaction import redact
from acc_ace.errors import ConfigError, ModelOutputError, ModelRefused, ModelUnavailable
from acc_ace.models.failures import RETRIED_STATUS

MAX_REPLY_BYTES: Final = 32 * 1024 * 1024
"""Longest reply of a model that is read, in bytes; a streamed token takes some 250."""

_CODINGS: Final = frozenset({"", "identity", "gzip", "deflate"})
"""Codings of a reply; what others make of a few bytes has no bound."""

_ACCEPTED: Final = {"Accept-Encoding": "gzip, deflate"}

_REPORTED_BYTES = 64 * 1024
"""Bytes of an error's body that are read."""


def checked_url(url: str, setting: str) -> str:
    """The address of an endpoint; raises ConfigError, which names the setting, for no address."""
    if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
        raise ConfigError(
            f"{setting}: {redact(url)!r} is not an http(s) URL; use one such as "
            "'http://127.0.0.1:11434/v1'"
        )
    return url


def http_client(url: str, key: SecretStr | None, timeout: httpx.Timeout) -> httpx.AsyncClient:
    """A client for one call: it belongs to the running event loop, and callers outlive loops."""
    return httpx.AsyncClient(
        base_url=url.rstrip("/") + "/",
        headers=_ACCEPTED | ({"Authorization": f"Bearer {key.get_secret_value()}"} if key else {}),
        timeout=timeout,
        verify=_tls(),
    )


async def pieces_of(response: httpx.Response, who: str, *, most: int) -> AsyncIterator[bytes]:
    """The pieces of a reply as they come.

    Raises ModelUnavailable on 408, 429 and 5xx and ModelRefused on other statuses, with what the
    endpoint says, and ModelOutputError for more than `most` bytes.
    """
    await _require_ok(response, who)
    async for piece in _bounded(response.aiter_bytes(), response, who, most):
        yield piece


class ModelHttpClient(httpx.AsyncClient):
    """A client for all event loops, each with connections of its own, for a library to call with.

    Raises ModelOutputError, which names `who`, when more than MAX_REPLY_BYTES of a reply are read.
    """

    def __init__(self, who: str) -> None:
        super().__init__(verify=_tls(), headers=_ACCEPTED)
        self._who = who
        self._clients: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}

    async def send(
        self, request: httpx.Request, *, stream: bool = False, **options: object
    ) -> httpx.Response:
        """The response of a request, read whole unless it is streamed; it has no other options."""
        del options
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            for ended in [each for each in list(self._clients) if each.is_closed()]:
                del self._clients[ended]
            self._clients[loop] = httpx.AsyncClient(verify=_tls(), follow_redirects=True)
        sent = await self._clients[loop].send(request, stream=True)
        response = _BoundedReply(sent, self._who)
        if not stream:
            try:
                await response.aread()
            finally:
                await response.aclose()
        return response

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        if client := self._clients.pop(asyncio.get_running_loop(), None):
            await client.aclose()


class _BoundedReply(httpx.Response):
    """A response that is read within bounds, decoded, however it is read."""

    def __init__(self, sent: httpx.Response, who: str) -> None:
        super().__init__(
            sent.status_code,
            headers=sent.headers,
            stream=sent.stream,
            request=sent.request,
            extensions=sent.extensions,
        )
        self._who = who

    async def aiter_bytes(self, chunk_size: int | None = None) -> AsyncIterator[bytes]:
        """The pieces as they come."""
        pieces = super().aiter_bytes(chunk_size)
        async for piece in _bounded(pieces, self, self._who, MAX_REPLY_BYTES):
            yield piece


async def _bounded(
    pieces: AsyncIterator[bytes], response: httpx.Response, who: str, most: int
) -> AsyncIterator[bytes]:
    """The decoded pieces of a response; ModelOutputError for more than `most` bytes of them."""
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding not in _CODINGS:
        raise ModelOutputError(f"{who} sent a reply as {coding[:40]!r}, which was not asked for")
    size = 0
    async for piece in pieces:
        size += len(piece)
        if size > most:
            raise ModelOutputError(
                f"{who} sent more than {most:,} bytes, the most that is read of a reply; check its "
                "endpoint, or use another model"
            )
        yield piece


async def _require_ok(response: httpx.Response, who: str) -> None:
    status = response.status_code
    if 200 <= status < 300:
        return
    text = f"{who} answered HTTP {status}: {await _reported(response)}"
    kind = ModelUnavailable if status in RETRIED_STATUS or status >= 500 else ModelRefused
    # The cause carries the headers, among them Retry-After.
    raise kind(text) from httpx.HTTPStatusError(text, request=response.request, response=response)


async def _reported(response: httpx.Response) -> str:
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > _REPORTED_BYTES:
            break
    text = body.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    error = value.get("error", value) if isinstance(value, dict) else value
    message = error.get("message", error) if isinstance(error, dict) else error
    return " ".join(str(message).split())[:300] or response.reason_phrase


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    """Certificates, read once: reading them takes longer than a local call."""
    return httpx.create_ssl_context()
