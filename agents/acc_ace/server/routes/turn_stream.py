"""A running turn as server-sent events.

When the client disconnects, an unanswered turn is cancelled and so discarded; one that has answered
is committed, so it is left to learn from its answer.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any, Final, TypeVar

from fastapi import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from acc_ace.core.schemas.report import Answer, TurnDone, TurnEvent, TurnPaused, TurnReport
from acc_ace.errors import ModelOutputError
from acc_ace.server.problems import problem_of

MEDIA_TYPE: Final = "text/event-stream"

_LINE: Final = {"type": "string"}
EVENTS: Final = {"itemSchema": {"type": "object", "properties": {"event": _LINE, "data": _LINE}}}
"""How OpenAPI describes a stream: each of its events."""

HEARTBEAT_S: Final = 15.0
"""Silence after which a comment is sent, so that proxies keep the connection open."""

_T = TypeVar("_T")


class ClientGone(Exception):
    """The client closed the connection before its answer was ready."""


class TurnEvents:
    """The events of a turn, and whether its answer is among those that have come."""

    def __init__(self, events: AsyncIterator[TurnEvent]) -> None:
        self._events = events
        self.answered = False

    async def __aiter__(self) -> AsyncIterator[TurnEvent]:
        """Every event in order."""
        async for event in self._events:
            self.answered = self.answered or isinstance(event, Answer)
            yield event


async def unless_disconnected(
    request: Request, work: Coroutine[Any, Any, _T], turn: TurnEvents
) -> _T:
    """Await `work` on a turn; when the client goes away first, end it and raise ClientGone."""
    doing = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(_disconnect(request))
    try:
        await asyncio.wait({doing, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            await _end(doing, turn)
            raise ClientGone
        return doing.result()
    finally:
        for task in (doing, watching):
            task.cancel()
        await asyncio.wait({doing, watching})


async def result_of(turn: TurnEvents) -> TurnReport | TurnPaused:
    """Run a turn to its end; its report, or what it waits for."""
    result: TurnReport | TurnPaused | None = None
    async for event in turn:
        if isinstance(event, TurnDone):
            result = event.report
        elif isinstance(event, TurnPaused):
            result = event
    if result is None:
        raise ModelOutputError("the turn ended without a report; send it again")
    return result


class EventStream:
    """Events of a turn as SSE text.

    One task runs the turn from its first event to its last, because ADK's tracing does not
    bear a change of task in between. `aclose` ends it.
    """

    def __init__(self, turn: TurnEvents, *, path: str, data_dir: Path) -> None:
        self._turn = turn
        self._path = path
        self._data_dir = data_dir
        self._queue: asyncio.Queue[TurnEvent | Exception | None] = asyncio.Queue()
        self._producer = asyncio.ensure_future(self._produce())
        self._first: TurnEvent | Exception | None = None

    async def start(self) -> None:
        """Wait for the first event; what goes wrong before it is raised, not streamed."""
        self._first = await self._queue.get()
        if isinstance(self._first, Exception):
            raise self._first

    async def text(self) -> AsyncIterator[str]:
        """Every event in order, comments into silence, `error` as the last one on failure."""
        item = self._first
        while item is not None:
            yield self._block(item)
            while (item := await self._next()) is _SILENCE:
                yield ": waiting\n\n"

    def cancel(self) -> None:
        """End the turn now, even one that has answered and is learning."""
        self._producer.cancel()

    async def aclose(self) -> None:
        """End the turn if it still runs: wait until it is discarded, or has learned."""
        await _end(self._producer, self._turn)

    async def _produce(self) -> None:
        try:
            async for event in self._turn:
                self._queue.put_nowait(event)
        except Exception as error:  # noqa: BLE001 - handed to the reader of the queue
            self._queue.put_nowait(error)
        finally:
            self._queue.put_nowait(None)

    async def _next(self) -> "TurnEvent | Exception | None":
        try:
            async with asyncio.timeout(HEARTBEAT_S):
                return await self._queue.get()
        except TimeoutError:
            return _SILENCE

    def _block(self, item: TurnEvent | Exception) -> str:
        if isinstance(item, Exception):
            value = problem_of(item, instance=self._path, data_dir=self._data_dir)
            return f"event: error\ndata: {value.model_dump_json(exclude_none=True)}\n\n"
        return f"event: {item.type}\ndata: {item.model_dump_json()}\n\n"


class EventStreamResponse(StreamingResponse):
    """The response that carries an EventStream, and closes it however the response ends."""

    def __init__(self, stream: EventStream) -> None:
        super().__init__(stream.text(), media_type=MEDIA_TYPE, headers={"X-Accel-Buffering": "no"})
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI asks."""
        try:
            await super().__call__(scope, receive, send)
        except asyncio.CancelledError:
            # The server gives the request up; a client that leaves ends the call without this.
            self._stream.cancel()
            raise
        finally:
            await self._stream.aclose()


_SILENCE: Final = TimeoutError("no event yet")


async def _end(task: "asyncio.Future[Any]", turn: TurnEvents) -> None:
    """Wait for the end of a turn that has answered; cancel any other, also when cancelled."""
    try:
        if turn.answered:
            await asyncio.wait({task})
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
