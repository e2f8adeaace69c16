"""What Gemini's endpoint sends is read within bounds, whatever it sends."""

import asyncio
import gzip
import tracemalloc
from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI, Request
from google.adk.models.llm_request import LlmRequest
from google.genai import types
from starlette.responses import Response, StreamingResponse

from acc_ace import build_model
from acc_ace.errors import ModelOutputError
from acc_ace.models import endpoint
from config import AgentSettings, Settings
from tests.fakes.loopback import served

EVENT = b'data: {"candidates": [], "x": "' + b"y" * 60_000 + b'"}\n\n'
MEBIBYTE = b" " * 2**20
BOMB = gzip.compress(MEBIBYTE * 48)
ENDLESS = {
    "events": ("text/event-stream", "", EVENT),
    "line": ("text/event-stream", "", b"data: " + b"y" * 60_000),
    "whole": ("application/json", "", b"[1, " * 15_000),
    "packed": ("application/json", "gzip", BOMB),
    "packed twice": ("application/json", "gzip, gzip", gzip.compress(BOMB)),
}
MOST = 2**21
"""The limit, smaller than it is, so that the test takes less time."""

MOST_MEMORY = 2**27
"""Of a packed reply, 64 KiB that came at once are unpacked at once: a thousand times as much."""


def endless() -> FastAPI:
    app = FastAPI()

    @app.post("/{kind}/v1beta/models/{call}")
    async def generate(kind: str, call: str, request: Request) -> Response:
        del call, request
        media, coding, piece = ENDLESS[kind]

        async def pieces() -> AsyncIterator[bytes]:
            yield piece
            while not coding:
                await asyncio.sleep(0)  # So that it sees that its client has gone.
                yield piece

        headers = {"content-encoding": coding} if coding else {}
        return StreamingResponse(pieces(), headers=headers, media_type=media)

    return app


@pytest.mark.parametrize("kind", ENDLESS)
@pytest.mark.parametrize("stream", [False, True])
async def test_endless_reply_is_cut_off_with_the_limit_and_the_model(
    kind: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "MAX_REPLY_BYTES", MOST)
    request = LlmRequest(contents=[types.Content(role="user", parts=[types.Part(text="Hi.")])])
    block = AgentSettings(model="gemini-3.5-flash", retries=0, timeout_s=60)
    model = build_model("generator", Settings(generator=block))
    with served(endless()) as url:
        monkeypatch.setenv("GOOGLE_API_KEY", "test-key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", f"{url}/{kind}")
        tracemalloc.start()
        try:
            with pytest.raises(ModelOutputError) as raised:
                _ = [each async for each in model.generate_content_async(request, stream)]
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert "model gemini-3.5-flash sent" in str(raised.value)
    assert "2,097,152 bytes" in str(raised.value) or "'gzip, gzip'" in str(raised.value)
    assert most < MOST_MEMORY
