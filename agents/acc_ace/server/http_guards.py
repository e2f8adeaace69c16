"""Guards of plain HTTP: the host a request names, the time a client takes, our headers.

A host that is not ours is refused, against DNS rebinding.
"""

import asyncio
import ipaddress
from collections.abc import Sequence
from typing import Final

import h11
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from acc_ace.server.content_policy import policy_of
from acc_ace.server.problems import MEDIA_TYPE, problem, problem_response

_LOOPBACK_NAMES: Final = frozenset({"localhost"})
_POLICY_VIOLATION: Final = 1008


def is_loopback(host: str) -> bool:
    """Whether an address or name (without port) is this machine's own."""
    bare = host.strip("[]").lower().rstrip(".")
    if bare in _LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return False


def is_any_address(host: str) -> bool:
    """Whether the address means every interface."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return host == ""


class HostNames:
    """The hosts that a server answers as.

    `trusted` holds names, `*.example.com` patterns or `*`. When it is empty, a loopback bind
    trusts loopback names, another bind trusts its own address, and a bind to every interface
    trusts all. Loopback names are always trusted on a loopback bind.
    """

    def __init__(self, *, trusted: Sequence[str], bind_host: str) -> None:
        self._bind_host = bind_host
        self.patterns = tuple(host.lower() for host in trusted) or (
            ("*",) if is_any_address(bind_host) else (bind_host.strip("[]").lower(),)
        )

    def accepts(self, host: str) -> bool:
        """Whether a host, without port and in lower case, is one of them."""
        if is_loopback(self._bind_host) and is_loopback(host):
            return True
        return any(_matches(host, pattern) for pattern in self.patterns)


class TrustedHosts:
    """ASGI middleware: 400 for a Host header that is none of `HostNames`."""

    def __init__(self, app: ASGIApp, *, trusted: Sequence[str], bind_host: str) -> None:
        self._app = app
        self._names = HostNames(trusted=trusted, bind_host=bind_host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI asks."""
        if scope["type"] not in {"http", "websocket"} or self._accepts(_hosts(scope)):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": "host"})
        else:
            value = problem(
                400,
                "untrusted_host",
                "this Host is not trusted; add it to ACC_ACE_TRUSTED_HOSTS",
                instance=scope["path"],
            )
            await problem_response(value)(scope, receive, send)

    def _accepts(self, hosts: list[str]) -> bool:
        if not hosts:
            # Browsers always send Host, so a request without it is no rebinding.
            return True
        return len(hosts) == 1 and self._names.accepts(_without_port(hosts[0]))


def _hosts(scope: Scope) -> list[str]:
    return [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]


def _without_port(host: str) -> str:
    """The host of an authority; a malformed one comes back whole, and so matches nothing."""
    if host.startswith("["):
        bare, bracket, rest = host[1:].partition("]")
        well_formed = bracket and (not rest or (rest[0] == ":" and rest[1:].isdigit()))
        return bare.lower() if well_formed else host
    bare, colon, port = host.partition(":")
    well_formed = not colon or port.isdigit()
    return bare.lower().rstrip(".") if well_formed else host


def _matches(host: str, pattern: str) -> bool:
    if pattern == "*":
        return True
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    return host == pattern


_EVERYWHERE: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    # Not no-referrer: with that, browsers send "Origin: null" with the sign-in form.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    # A link that an answer shows is not looked up before somebody follows it.
    "X-DNS-Prefetch-Control": "off",
}
_DATA: Final = {"Cache-Control": "no-store"}
"""For our own routes, which answer with data and never with a page."""


class SecurityHeaders:
    """ASGI middleware that adds the headers where a route has not set its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI asks."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        wanted = {**_EVERYWHERE, "Content-Security-Policy": policy_of(path)}
        wanted |= _DATA if path.startswith("/v1/") else {}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in wanted.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _timeout_answer(seconds: float) -> bytes:
    """The 408 as bytes: without a head there is no request that an ASGI app could answer."""
    value = problem(
        408, "header_timeout", f"the headers did not arrive within {seconds:g} seconds", instance=""
    )
    # The path is not known either.
    body = value.model_dump_json(exclude_none=True, exclude={"instance"}).encode()
    head = (
        "HTTP/1.1 408 Request Timeout\r\n"
        f"content-type: {MEDIA_TYPE}\r\n"
        f"content-length: {len(body)}\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode("ascii") + body


def header_timeout(seconds: float) -> type[H11Protocol]:
    """uvicorn's HTTP protocol; a connection without a head in `seconds` is closed with 408.

    One whose client reads nothing of an answer for as long is cut off, with what is unsent.
    """

    class TimedProtocol(H11Protocol):
        """Waits for a whole head, from the connection or the first byte of the next request."""

        _head_timer: asyncio.TimerHandle | None = None
        _read_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._await_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
                self._await_head()
            else:
                self._head_arrived()

        def connection_lost(self, exc: Exception | None) -> None:
            self._head_arrived()
            self._is_read()
            super().connection_lost(exc)

        def _await_head(self) -> None:
            """Start the clock, unless it runs: more bytes of the same head give no more time."""
            if self._head_timer is None:
                self._head_timer = self.loop.call_later(seconds, self._cut)

        def _head_arrived(self) -> None:
            if self._head_timer is not None:
                self._head_timer.cancel()
                self._head_timer = None

        def pause_writing(self) -> None:
            super().pause_writing()
            self._await_reader(self.transport.get_write_buffer_size())

        def resume_writing(self) -> None:
            super().resume_writing()
            self._is_read()

        def _await_reader(self, unsent: int) -> None:
            self._read_timer = self.loop.call_later(seconds, self._look, unsent)

        def _look(self, unsent: int) -> None:
            """Cut off who has read nothing since; a slow reader of much has as long again."""
            if (left := self.transport.get_write_buffer_size()) < unsent:
                self._await_reader(left)
            else:
                self.transport.abort()

        def _is_read(self) -> None:
            if self._read_timer is not None:
                self._read_timer.cancel()
                self._read_timer = None

        def _cut(self) -> None:
            self._head_timer = None
            if not self.transport.is_closing():
                self.transport.write(_timeout_answer(seconds))
                self.transport.close()

    return TimedProtocol
