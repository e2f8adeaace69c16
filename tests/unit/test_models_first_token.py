"""Time limits count from the first token, and a call can be left while a prompt is read."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace import build_model
from acc_ace.clock import TimeBudget
from acc_ace.errors import ModelUnavailable
from acc_ace.models.resilient import ResilientLlm
from config import AgentSettings, Role, Settings
from tests.fakes.extensions import needs
from tests.fakes.scripted_llm import ScriptedLlm

pytestmark = needs("openai_compatible")

WORDS = ("Never ", "restart ", "db-01.")
SOON_S = 5.0
"""Longer than anything here takes, unless it hangs."""


class SlowReader:
    """An endpoint that reads a prompt for so long, then writes with so long between two words."""

    def __init__(self, reading_s: float, pause_s: float) -> None:
        self._reading_s, self._pause_s = reading_s, pause_s
        self.requests = 0
        self.reading = asyncio.Event()
        self.left, self.closed = asyncio.Event(), asyncio.Event()
        self.url = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = int(head.lower().partition(b"content-length:")[2].split()[0])
        await reader.readexactly(size)
        self.requests += 1
        self.reading.set()
        telling = asyncio.ensure_future(reader.read())
        writing = asyncio.ensure_future(self._write(writer))
        await asyncio.wait({telling, writing}, return_when=asyncio.FIRST_COMPLETED)
        if telling.done():
            self.left.set()
        for task in (telling, writing):
            task.cancel()
        await asyncio.gather(telling, writing, return_exceptions=True)
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)
        self.closed.set()

    async def _write(self, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(self._reading_s)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n")
        writer.write(b"connection: close\r\n\r\n")
        for word in WORDS:
            writer.write(event({"content": word}))
            await writer.drain()
            await asyncio.sleep(self._pause_s)
        writer.write(event({}, finish="stop") + b"data: [DONE]\n\n")
        await writer.drain()


def event(delta: dict[str, str], *, finish: str | None = None) -> bytes:
    body = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return f"data: {json.dumps(body)}\n\n".encode()


@asynccontextmanager
async def slow_reader(*, reading_s: float = 0, pause_s: float = 0) -> AsyncIterator[SlowReader]:
    reader = SlowReader(reading_s, pause_s)
    server = await asyncio.start_server(reader.answer, "127.0.0.1", 0)
    reader.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server:
        yield reader
        await asyncio.wait_for(reader.closed.wait(), SOON_S)


def model_at(url: str, *, role: Role = "compressor", **options: object) -> ResilientLlm:
    block = {"model": "openai/slow", "backoff_s": 0, **options}
    name = "guard_model" if role == "guard" else role
    settings = Settings.model_validate({name: block, "openai_base_url": url})
    model = build_model(role, settings)
    assert isinstance(model, ResilientLlm)
    return model


async def ask(model: ResilientLlm, *, stream: bool = False) -> list[LlmResponse]:
    content = types.Content(role="user", parts=[types.Part(text="hello")])
    responses = model.generate_content_async(LlmRequest(contents=[content]), stream=stream)
    return [item async for item in responses]


def text_of(responses: Sequence[LlmResponse]) -> str:
    whole = responses[-1].content
    return "".join(part.text or "" for part in (whole.parts if whole else None) or [])


@pytest.mark.parametrize("stream", [False, True])
async def test_prompt_may_be_read_for_longer_than_an_answer_may_take(stream: bool) -> None:
    async with slow_reader(reading_s=0.6) as endpoint:
        model = model_at(endpoint.url, timeout_s=0.3, first_token_timeout_s=SOON_S)
        responses = await ask(model, stream=stream)
    assert text_of(responses) == "".join(WORDS)
    assert (len(responses) > 1) is stream


@pytest.mark.parametrize(
    ("role", "reading_s", "pause_s", "named"),
    [
        ("compressor", 60, 0, "no first token in time: ACC_ACE_COMPRESSOR__FIRST_TOKEN_TIMEOUT_S"),
        ("guard", 60, 0, "no first token in time: ACC_ACE_GUARD_MODEL__FIRST_TOKEN_TIMEOUT_S"),
        ("compressor", 0, 60, "did not answer in time: ACC_ACE_COMPRESSOR__TIMEOUT_S is 0.2"),
    ],
)
async def test_late_token_names_the_setting_and_is_not_waited_for_again(
    role: Role, reading_s: float, pause_s: float, named: str
) -> None:
    async with slow_reader(reading_s=reading_s, pause_s=pause_s) as endpoint:
        model = model_at(endpoint.url, role=role, timeout_s=0.2, first_token_timeout_s=0.2)
        with pytest.raises(ModelUnavailable, match=named):
            await ask(model)
        assert endpoint.requests == 1


async def test_call_that_is_cancelled_while_a_prompt_is_read_closes_its_connection() -> None:
    async with slow_reader(reading_s=60) as endpoint:
        call = asyncio.create_task(ask(model_at(endpoint.url)))
        await asyncio.wait_for(endpoint.reading.wait(), SOON_S)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(endpoint.left.wait(), SOON_S)


async def test_prompt_that_is_read_here_takes_no_time_of_the_turn() -> None:
    budget = TimeBudget(SOON_S)
    budget.begin()
    async with slow_reader(reading_s=0.3) as endpoint:
        await ask(model_at(endpoint.url))
    assert budget.left_s > SOON_S - 0.3
    budget.end()


class Elsewhere(ScriptedLlm):
    """A model of another machine that streams every reply."""

    first_token_s: float = SOON_S


async def test_prompt_that_is_read_elsewhere_takes_time_of_the_turn() -> None:
    async def never(_: LlmRequest) -> str:
        await asyncio.Event().wait()
        return ""

    budget = TimeBudget(0.05)
    budget.begin()
    primary = Elsewhere(model="scripted/slow").on("generator", never)
    model = ResilientLlm(model="x", role="generator", policy=AgentSettings(), primary=primary)
    with pytest.raises(ModelUnavailable, match="ACC_ACE_LIMITS__TURN_MODEL_S"):
        await ask(model)
    budget.end()
