"""A call to an OpenAI-compatible endpoint over httpx: its address, its bounds and its errors."""

import json
import ssl
from collections.abc import AsyncIterator
from functools import lru_cache
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from acc_ace.core.text.redaction import redact
from acc_ace.errors import ConfigError, ModelOutputError, ModelRefused, ModelUnavailable
from acc_ace.models.failures import RETRIED_STATUS

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
        headers={"Authorization": f"Bearer {key.get_secret_value()}"} if key else {},
        timeout=timeout,
        verify=_tls(),
    )


async def pieces_of(response: httpx.Response, who: str, *, most: int) -> AsyncIterator[bytes]:
    """The pieces of a reply as they come.

    Raises ModelUnavailable on 408, 429 and 5xx and ModelRefused on other statuses, with what the
    endpoint says, and ModelOutputError for more than `most` bytes.
    """
    await _require_ok(response, who)
    size = 0
    async for piece in response.aiter_bytes():
        size += len(piece)
        if size > most:
            raise ModelOutputError(f"{who} sent more than {most} bytes")
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
