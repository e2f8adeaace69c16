import json
import tracemalloc
from collections.abc import MutableMapping
from typing import Any

import pytest

from acc_ace.server.adk_guard import AdkInputGuard
from acc_ace.server.request_body import BODY, BodyLimit
from tests.server.asgi import Echo, client


async def _post(path: str, message: Any, **more: str) -> tuple[int, str]:
    guard = AdkInputGuard(Echo())
    async with client(BodyLimit(guard, limit=100_000, seconds=30)) as http:
        body = json.dumps({"userId": "user", "newMessage": message, **more})
        response = await http.post(path, content=body)
    return response.status_code, response.json().get("code", "")


def _parts(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


@pytest.mark.parametrize("path", ["/run", "/run_sse"])
async def test_bad_input_is_refused_before_the_turn(path: str) -> None:
    binary = {"inlineData": {"data": "iVBORw0KGgo=", "mimeType": "image/png"}}
    assert await _post(path, _parts({"text": "see"}, binary)) == (415, "binary_input")
    file = {"file_data": {"fileUri": "gs://x/y"}}
    assert await _post(path, _parts(file)) == (415, "binary_input")
    assert await _post(path, _parts({"text": " \n　"})) == (422, "invalid_input")
    assert await _post(path, _parts({"text": "a\ud800b"})) == (422, "invalid_input")
    assert await _post(path, _parts()) == (422, "invalid_input")
    assert await _post(path, None) == (422, "invalid_request")


async def test_good_input_and_other_routes_pass() -> None:
    assert (await _post("/run", _parts({"text": "word " * 16_000})))[0] == 200
    reply = {"functionResponse": {"name": "approve", "response": {"ok": True}}}
    assert (await _post("/run", _parts(reply)))[0] == 200
    assert (await _post("/run", None, invocationId="i-1"))[0] == 200
    assert (await _post("/other", _parts()))[0] == 200


@pytest.mark.parametrize("depth", [1, 90])
@pytest.mark.parametrize("part", ["1", "[]", '{"a":""}'])
async def test_a_body_of_very_many_values_is_checked_in_little_memory(
    depth: int, part: str
) -> None:
    body = json.dumps({"newMessage": _parts({"text": "hello"})})
    many = "[" * depth + ",".join([part] * 20_000) + "]" * depth
    body = f'{body[:-1]},"stateDelta":{{"x":{many}}}}}'
    scope = {"type": "http", "method": "POST", "path": "/run", "headers": []}
    app = Echo()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None: ...

    tracemalloc.start()
    try:
        parsed = json.loads(body)
        of_body = tracemalloc.get_traced_memory()[0]
        del parsed
        tracemalloc.reset_peak()
        guard = AdkInputGuard(app)
        await guard({**scope, BODY: body.encode()}, receive, send)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert app.calls == 1
    assert peak < 2 * of_body + 1_000_000
