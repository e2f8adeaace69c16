import asyncio
import json
from collections.abc import AsyncIterator

from starlette.types import Message

from acc_ace.core.schemas.limits import Limits
from acc_ace.core.text.input_checks import most_bytes
from acc_ace.server.request_body import BodyLimit
from tests.server.asgi import Echo, client

LIMIT = 1_000
SECONDS = 30


async def test_body_within_the_limit_reaches_the_route_whole() -> None:
    async with client(BodyLimit(Echo(), limit=LIMIT, seconds=SECONDS)) as http:
        response = await http.post("/x", content=b"a" * LIMIT)
    assert response.json()["size"] == LIMIT


async def test_declared_length_over_the_limit_is_413_and_never_reaches_the_route() -> None:
    echo = Echo()
    async with client(BodyLimit(echo, limit=LIMIT, seconds=SECONDS)) as http:
        response = await http.post("/x", content=b"a" * (10 * 1024 * 1024))
    assert response.status_code == 413
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["code"] == "input_too_large"
    assert "ACC_ACE_LIMITS__INPUT_TOKENS" in response.json()["detail"]
    assert echo.calls == 0


async def test_undeclared_length_is_counted_as_it_arrives() -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b"a" * 100

    async with client(BodyLimit(Echo(), limit=LIMIT, seconds=SECONDS)) as http:
        response = await http.post("/x", content=endless())
    assert response.status_code == 413


def test_limit_has_room_for_the_largest_input_and_never_falls_below_two_mebibytes() -> None:
    assert most_bytes(Limits()) == 2 * 1024 * 1024
    large = Limits(input_tokens=1_000_000)
    # The dearest token in JSON: a character beyond the BMP, escaped as a surrogate pair.
    assert most_bytes(large) >= 12 * large.input_tokens


async def test_a_body_that_comes_byte_by_byte_is_408() -> None:
    async def dripping() -> AsyncIterator[bytes]:
        while True:
            yield b"a"
            await asyncio.sleep(0.02)

    echo = Echo()

    # The client of these tests sends the whole body first, so the guard is asked by itself.
    parts = dripping()
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": await anext(parts), "more_body": True}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/x", "headers": []}
    await BodyLimit(echo, limit=LIMIT, seconds=0.2)(scope, receive, send)
    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]
    assert "ACC_ACE_LIMITS__RECEIVE_S" in json.loads(sent[1]["body"])["detail"]
    assert echo.calls == 0
