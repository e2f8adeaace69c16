"""A client that does not send its headers is cut with 408, one that reads nothing is cut off."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import uvicorn
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from acc_ace.server.http_guards import header_timeout
from tests.server.asgi import Echo

SHORT_S = 0.3
PATIENCE_S = 20
REQUEST = b"POST /x HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 2\r\n\r\nok"


@asynccontextmanager
async def served(
    seconds: float, app: ASGIApp | None = None
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a server that gives so much time for headers."""
    config = uvicorn.Config(
        app or Echo(), port=0, http=header_timeout(seconds), log_level="critical", lifespan="off"
    )
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    port = server.servers[0].sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        await server.shutdown()


async def answer(reader: asyncio.StreamReader) -> bytes:
    """Everything until the server closes the connection."""
    got = b""
    async with asyncio.timeout(PATIENCE_S):
        # What a client sends to a closed connection resets it, after the answer.
        with suppress(ConnectionResetError):
            while block := await reader.read(4_096):
                got += block
    return got


async def test_a_silent_client_is_cut() -> None:
    async with served(SHORT_S) as (reader, _):
        assert (await answer(reader)).startswith(b"HTTP/1.1 408 ")


async def test_a_client_that_sends_a_byte_at_a_time_is_cut() -> None:
    async with served(SHORT_S) as (reader, writer):

        async def drip() -> None:
            for byte in b"GET / HTTP/1.1\r\nhost: " + b"a" * 10_000:
                writer.write(bytes([byte]))
                await asyncio.sleep(SHORT_S / 10)

        dripping = asyncio.create_task(drip())
        got = await answer(reader)
        dripping.cancel()
    head, _, body = got.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert b"content-length: %d" % len(body) in head


async def test_the_answer_is_a_problem_like_every_error() -> None:
    async with served(SHORT_S) as (reader, _):
        head, _, body = (await answer(reader)).partition(b"\r\n\r\n")
    problem = json.loads(body)
    assert b"content-type: application/problem+json\r\n" in head
    assert (problem["status"], problem["code"]) == (408, "header_timeout")
    assert f"{SHORT_S:g} seconds" in problem["detail"]


async def test_the_head_of_a_second_request_is_bounded_too() -> None:
    async with served(SHORT_S) as (reader, writer):
        writer.write(REQUEST)
        await asyncio.wait_for(reader.readuntil(b"}"), PATIENCE_S)
        writer.write(b"GET /")
        assert (await answer(reader)).startswith(b"HTTP/1.1 408 ")


async def test_the_clock_stops_when_the_head_is_there() -> None:
    async with served(SHORT_S) as (reader, writer):
        writer.write(REQUEST[:-2])
        await asyncio.sleep(SHORT_S * 3)
        writer.write(REQUEST[-2:])
        assert (await asyncio.wait_for(reader.readline(), PATIENCE_S)).startswith(b"HTTP/1.1 200 ")


async def test_a_client_that_reads_nothing_of_a_long_answer_is_cut_off() -> None:
    written = asyncio.Event()

    async def endless(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        with suppress(OSError):
            for _ in range(10_000):  # Some 640 MB: no buffer between takes that.
                await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
        written.set()

    async with served(SHORT_S, endless) as (_, writer):
        writer.write(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        async with asyncio.timeout(PATIENCE_S):
            await written.wait()


async def test_a_slow_reader_of_a_long_answer_is_served() -> None:
    async def long(scope: Scope, receive: Receive, send: Send) -> None:
        await Response(b"x" * 20_000_000)(scope, receive, send)

    async with served(SHORT_S, long) as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        got = 0
        while got < 20_000_000:
            got += len(await asyncio.wait_for(reader.read(1_000_000), PATIENCE_S))
            await asyncio.sleep(SHORT_S / 10)
