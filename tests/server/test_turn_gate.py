import asyncio
import json
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from acc_ace.server.turn_gate import TurnGate, TurnGuard
from tests.server.asgi import client

GRACE_S = 30.0


class Turns:
    """A server whose turns last until told; it knows how many were undone."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.finish = asyncio.Event()
        self.undone = 0
        self.gate = TurnGate()
        routes = [
            Route("/run", self._plain, methods=["POST"]),
            Route("/run_sse", self._stream, methods=["POST"]),
            Route("/v1/sessions/{s}/turns", self._plain, methods=["POST"]),
            Route("/healthz", self._alive),
        ]
        self.app = TurnGuard(Starlette(routes=routes), gate=self.gate)

    async def _turn(self) -> None:
        self.started.set()
        try:
            await self.finish.wait()
        except asyncio.CancelledError:
            self.undone += 1
            raise

    async def _plain(self, _request: Request) -> Response:
        await self._turn()
        return PlainTextResponse("answer")

    async def _stream(self, _request: Request) -> Response:
        async def events() -> AsyncIterator[str]:
            yield "data: first\n\n"
            await self._turn()
            yield "data: last\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    async def _alive(self, _request: Request) -> Response:
        return PlainTextResponse("ok")


async def test_running_turn_finishes_within_the_grace() -> None:
    turns = Turns()
    async with client(turns.app) as http:
        answer = asyncio.create_task(http.post("/v1/sessions/s/turns"))
        await turns.started.wait()
        draining = asyncio.create_task(turns.gate.drain(GRACE_S))
        await asyncio.sleep(0)
        turns.finish.set()
        assert await draining == 0
        assert (await answer).text == "answer"
    assert turns.undone == 0


async def test_new_turn_is_503_while_draining_and_other_routes_answer() -> None:
    turns = Turns()
    turns.gate.close()
    async with client(turns.app) as http:
        for path in ("/run", "/run_sse", "/v1/sessions/s/turns"):
            response = await http.post(path)
            assert response.status_code == 503
            assert response.json()["code"] == "shutting_down"
            assert response.headers["retry-after"]
        assert (await http.get("/healthz")).status_code == 200


async def test_turn_beyond_the_grace_is_undone_and_reported() -> None:
    turns = Turns()
    async with client(turns.app) as http:
        answer = asyncio.create_task(http.post("/run"))
        await turns.started.wait()
        assert await turns.gate.drain(0) == 1
        response = await answer
    assert turns.undone == 1
    assert response.status_code == 503
    assert "unanswered turns are discarded" in response.json()["detail"]


async def test_stream_beyond_the_grace_ends_with_an_error_event() -> None:
    turns = Turns()
    async with client(turns.app) as http:
        answer = asyncio.create_task(http.post("/run_sse"))
        await turns.started.wait()
        assert await turns.gate.drain(0) == 1
        blocks = (await answer).text.split("\n\n")
    assert turns.undone == 1
    assert blocks[0] == "data: first"
    name, data = blocks[1].split("\n")
    assert name == "event: error"
    assert json.loads(data.removeprefix("data: "))["code"] == "shutting_down"


async def test_turn_ends_when_the_server_gives_its_request_up() -> None:
    turns = Turns()
    async with client(turns.app) as http:
        answer = asyncio.create_task(http.post("/run"))
        await turns.started.wait()
        answer.cancel()
        await asyncio.wait({answer})
    assert turns.undone == 1
    assert turns.gate.running == 0


async def test_drain_without_turns_returns_at_once() -> None:
    gate = TurnGate()
    assert await gate.drain(GRACE_S) == 0
    assert gate.closed
