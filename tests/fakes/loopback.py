"""Serve an app on a free loopback port for the time of a test, and script its replies."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse

from acc_ace.config import Role
from acc_ace.server.process import open_socket

Json = dict[str, Any]

_STARTED_S = 10.0
_HELD_S = 30.0
"""A reply that no test lets go is sent after this time."""


@dataclass(frozen=True)
class HttpReply:
    """One reply of a fake: whole as `body`, streamed as `chunks`."""

    body: Json | str = field(default_factory=dict)
    chunks: Sequence[Json] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    breaks: bool = False
    """Whether the connection breaks after the chunks."""
    stalls: bool = False
    """Whether nothing comes after the chunks, while the connection stays open."""
    never_streams: bool = False
    """Whether it comes whole, though a stream was asked for."""
    held: threading.Event | None = None
    """Set by the test when the reply may be sent."""


@dataclass(frozen=True)
class Received:
    """One request that a fake got."""

    role: Role | None
    model: str
    stream: bool
    body: Json
    headers: Mapping[str, str]
    counts: bool = False
    """Whether only the tokens of a text are asked for."""

    @property
    def text(self) -> str:
        """The whole body as text, to look for what must or must not be in it."""
        return str(self.body)


Script = HttpReply | Callable[[Received], HttpReply]


class Scripts:
    """Replies by role, or by the number of the request; thread-safe, used in order.

    The last reply of a role stays; one for a number is used for that request only.
    """

    def __init__(self) -> None:
        self._by_key: dict[Role | int, list[Script]] = {}
        self._lock = threading.Lock()
        self._received: list[Received] = []

    @property
    def requests(self) -> list[Received]:
        """Every request, oldest first."""
        with self._lock:
            return list(self._received)

    def add(self, key: Role | int, replies: Sequence[Script]) -> None:
        """Add replies for a role, or from the n-th request on (0 = the first)."""
        with self._lock:
            if isinstance(key, int):
                for offset, reply in enumerate(replies):
                    self._by_key[key + offset] = [reply]
            else:
                self._by_key.setdefault(key, []).extend(replies)

    def take(self, received: Received) -> HttpReply | None:
        """Record a request; the reply scripted for it, or None."""
        with self._lock:
            number = len(self._received)
            self._received.append(received)
            role: Role | int = received.role or -1
            found = self._by_key.get(number) or self._by_key.get(role) or []
            script = found.pop(0) if len(found) > 1 else (found[0] if found else None)
        return script(received) if callable(script) else script


async def respond(reply: HttpReply, *, stream: bool, done: str = "") -> Response:
    """Turn a reply into a response; `done` is the last event of a stream, if there is one."""
    await asyncio.sleep(reply.delay_s)
    if reply.held is not None:
        await asyncio.to_thread(reply.held.wait, _HELD_S)
    # No connection outlives its reply, so none is left open when a test's event loop ends.
    headers = {"connection": "close", **reply.headers}
    if isinstance(reply.body, str):
        return Response(reply.body, reply.status, headers, media_type="application/json")
    if reply.status == 200 and stream and not reply.never_streams:
        events = _events(reply, done)
        return StreamingResponse(events, headers=headers, media_type="text/event-stream")
    return JSONResponse(reply.body, reply.status, headers)


async def _events(reply: HttpReply, done: str) -> AsyncIterator[bytes]:
    for chunk in reply.chunks:
        yield b"data: " + JSONResponse(chunk).body + b"\n\n"
        # Each chunk leaves on its own, as from a model that is still writing.
        await asyncio.sleep(0)
    if reply.stalls:
        await asyncio.sleep(_HELD_S)
    if reply.breaks:
        raise ConnectionResetError("scripted break")
    if done:
        yield f"data: {done}\n\n".encode()


@contextmanager
def served(app: Starlette, *, lives: bool = False, port: int = 0) -> Iterator[str]:
    """Serve an app in a thread; yields its base URL without a slash at the end.

    Its lifespan runs where it `lives`: an app that learns in the background stops it at the end.
    """
    listener = open_socket("127.0.0.1", port)
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="critical",
        lifespan="on" if lives else "off",
        ws="none",
        access_log=False,
        timeout_graceful_shutdown=5,
    )
    server = _Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        if not server.ready.wait(_STARTED_S):
            raise RuntimeError(f"the fake server did not start within {_STARTED_S:.0f} seconds")
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.end()
        thread.join(timeout=_STARTED_S)
        listener.close()


class _Server(uvicorn.Server):
    """Starts and ends by events; uvicorn's own looks every 0.1 s whether it should end."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()
        self._ended = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def main_loop(self) -> None:
        await self.on_tick(0)
        self._loop = asyncio.get_running_loop()
        self.ready.set()
        await self._ended.wait()

    def end(self) -> None:
        """End it, without waiting unless its lifespan ends too; called from another thread."""
        self.force_exit = self.config.lifespan == "off"
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._ended.set)
