"""Count running turns, so that a shutdown can wait for them, refuse new ones, and end the rest."""

import asyncio
import re
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acc_ace.server.problems import Problem, problem, problem_response

_TURN: Final = re.compile(r"/(run|run_sse|v1/chat|v1/sessions/[^/]+/turns(/[0-9]+/rerun)?)/?$")
_SSE: Final = b"text/event-stream"
_CUT: Final = (
    "the turn was cut off: unanswered turns are discarded, answered ones kept; check the session's "
    "last turn before retrying"
)


class TurnGate:
    """The turns that are running now. Closing it is final."""

    def __init__(self) -> None:
        self._turns: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the server is shutting down."""
        return self._closed

    @property
    def running(self) -> int:
        """How many turns are running."""
        return len(self._turns)

    def admit(self, turn: asyncio.Task[None]) -> None:
        """Count a turn until it is done."""
        self._turns.add(turn)
        turn.add_done_callback(self._turns.discard)

    def close(self) -> None:
        """Refuse new turns from now on."""
        self._closed = True

    async def drain(self, grace_s: float) -> int:
        """Close, wait for the running turns, cancel those left after `grace_s`; how many."""
        self.close()
        if not self._turns:
            return 0
        _, late = await asyncio.wait(set(self._turns), timeout=grace_s)
        for turn in late:
            turn.cancel()
        if late:
            await asyncio.wait(late)
        return len(late)


class TurnGuard:
    """ASGI middleware: takes each turn of every route through the gate."""

    def __init__(self, app: ASGIApp, *, gate: TurnGate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI asks."""
        if not _is_turn(scope):
            await self._app(scope, receive, send)
            return
        if self._gate.closed:
            refused = _shutting_down(scope, "the turn was not taken; send it again")
            await problem_response(refused)(scope, receive, send)
            return
        reply = _Reply(send)
        turn = asyncio.ensure_future(self._run(scope, receive, reply))
        self._gate.admit(turn)
        try:
            await asyncio.shield(turn)
        except asyncio.CancelledError:
            if not turn.done():
                # The server gave up this request, so its turn ends too, before we do.
                turn.cancel()
                await asyncio.wait({turn})
                raise
            await reply.end(_shutting_down(scope, _CUT), scope, receive)

    async def _run(self, scope: Scope, receive: Receive, reply: "_Reply") -> None:
        await self._app(scope, receive, reply)


class _Reply:
    """A `send` that knows how far the response has come, so that a cut one is ended cleanly."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._started = False
        self._streams_events = False
        self._ended = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started = True
            self._streams_events = any(
                name.lower() == b"content-type" and value.startswith(_SSE)
                for name, value in message["headers"]
            )
        elif message["type"] == "http.response.body":
            self._ended = not message.get("more_body", False)
        await self._send(message)

    async def end(self, value: Problem, scope: Scope, receive: Receive) -> None:
        """Say why the turn was cut: as the response, or as its last event."""
        if not self._started:
            await problem_response(value)(scope, receive, self._send)
        elif not self._ended:
            event = f"event: error\ndata: {value.model_dump_json(exclude_none=True)}\n\n"
            body = event.encode() if self._streams_events else b""
            await self._send({"type": "http.response.body", "body": body, "more_body": False})


def _is_turn(scope: Scope) -> bool:
    return (
        scope["type"] == "http"
        and scope["method"] == "POST"
        and _TURN.fullmatch(scope["path"]) is not None
    )


def _shutting_down(scope: Scope, what: str) -> Problem:
    return problem(
        503,
        "shutting_down",
        f"the server is shutting down; {what}",
        instance=scope["path"],
    )
