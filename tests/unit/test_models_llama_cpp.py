"""GGUF models: through the real llama.cpp with a tiny random model, and a scripted engine."""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import FunctionTool
from google.genai import types

from acc_ace.cli.checks.model_checks import check_models
from acc_ace.config import AgentSettings, Settings
from acc_ace.core.schemas.ccs import CCS_FIELDS, CompressedCognitiveState
from acc_ace.core.schemas.interaction import GeneratorOutput
from acc_ace.core.schemas.qualification import RelevanceBatch
from acc_ace.errors import ConfigError, ModelOutputError, ModelRefused, ModelUnavailable
from acc_ace.models.attempt import QUEUE_LIMITS
from acc_ace.models.factory import build_model
from acc_ace.models.llama_cpp import LlamaCppLlm
from acc_ace.models.llama_engine import (
    Chunk,
    EngineOptions,
    LlamaEngine,
    has_chat_template,
    load_server,
)
from acc_ace.models.reply_bounds import bounded_schema
from acc_ace.models.resilient import ResilientLlm
from tests.fakes.tiny_gguf import write_tiny_gguf

OPTIONS = EngineOptions(4_096, threads=1, chat_template="chatml")
"""The tiny model holds no chat template."""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


@pytest.fixture(scope="module")
def engine(tiny: Path) -> Iterator[LlamaEngine]:
    """One loaded model for all tests of the real llama.cpp."""
    running = LlamaEngine(lambda: load_server(tiny, OPTIONS))
    yield running
    running.close()


def real(engine: LlamaEngine, **options: Any) -> LlamaCppLlm:
    """Short bounds, since random weights fill whatever they may."""
    short = {"text_chars": 12, "item_chars": 8, "items": 2}
    return LlamaCppLlm(
        model="llama-cpp/tiny.gguf",
        engine=lambda path, options: engine,
        **short | options,
    )


def asked(schema: Any = None, text: str = "hello") -> LlmRequest:
    request = LlmRequest(
        contents=[types.Content(role="user", parts=[types.Part(text=text)])],
        config=types.GenerateContentConfig(
            system_instruction="Fill in.", temperature=0.7, seed=7, max_output_tokens=1_500
        ),
    )
    if schema is not None:
        request.set_output_schema(schema)
    return request


async def ask(model: Any, request: LlmRequest, *, stream: bool = False) -> list[LlmResponse]:
    responses = model.generate_content_async(request, stream=stream)
    return [item async for item in responses]


def text_of(response: LlmResponse) -> str:
    parts = (response.content.parts if response.content else None) or []
    return "".join(part.text or "" for part in parts)


@pytest.mark.parametrize("schema", [GeneratorOutput, RelevanceBatch])
@pytest.mark.parametrize("seed", range(3))
async def test_any_weights_give_valid_json_within_bounds(
    schema: Any, seed: int, engine: LlamaEngine
) -> None:
    request = asked(schema)
    request.config.seed = seed
    whole = (await ask(real(engine), request))[-1]
    schema.model_validate_json(text_of(whole))
    assert whole.finish_reason is types.FinishReason.STOP
    assert max(map(len, strings_of(json.loads(text_of(whole)))), default=0) <= 12


def strings_of(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings_of(item)


async def test_ccs_is_asked_field_by_field_and_put_together(engine: LlamaEngine) -> None:
    whole = (await ask(real(engine), asked(CompressedCognitiveState)))[-1]
    ccs = CompressedCognitiveState.model_validate_json(text_of(whole))
    assert tuple(json.loads(text_of(whole))) == CCS_FIELDS
    assert len(ccs.constraints) <= 2
    assert whole.usage_metadata is not None
    assert (whole.usage_metadata.prompt_token_count or 0) > 9 * 20


async def test_ccs_can_be_asked_in_one_call(engine: LlamaEngine) -> None:
    whole = (await ask(real(engine, field_by_field=False), asked(CompressedCognitiveState)))[-1]
    CompressedCognitiveState.model_validate_json(text_of(whole))


async def test_stream_comes_in_chunks_and_ends_with_the_whole(engine: LlamaEngine) -> None:
    *chunks, whole = await ask(real(engine), asked(GeneratorOutput), stream=True)
    assert len(chunks) > 3
    assert "".join(map(text_of, chunks)) == text_of(whole)
    assert whole.usage_metadata is not None
    assert (whole.usage_metadata.candidates_token_count or 0) > 0


async def test_reply_cut_off_by_the_limit_passes_with_its_finish_reason(
    engine: LlamaEngine,
) -> None:
    request = asked(GeneratorOutput)
    request.config.max_output_tokens = 8
    whole = (await ask(real(engine), request))[-1]
    assert whole.finish_reason is types.FinishReason.MAX_TOKENS
    assert text_of(whole).startswith("{")


async def test_prompt_longer_than_the_context_is_refused(engine: LlamaEngine) -> None:
    with pytest.raises(ModelRefused, match="exceeds the available context size"):
        await ask(real(engine), asked(text="a b c d " * 2_000))


async def test_consumer_that_stops_frees_the_engine(engine: LlamaEngine) -> None:
    first = real(engine).generate_content_async(asked(), stream=True)
    await anext(first)
    await first.aclose()
    assert text_of((await ask(real(engine), asked(GeneratorOutput)))[-1])


async def test_missing_file_is_told_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "none.gguf"
    block = AgentSettings(model=f"llama-cpp/{path}")
    model = build_model("generator", Settings(generator=block))
    with pytest.raises(ConfigError, match=f"{path} does not exist"):
        await ask(model, asked())


async def test_file_without_a_chat_template_is_refused_with_what_to_set(tiny: Path) -> None:
    with pytest.raises(ConfigError, match=r"no chat template.*ACC_ACE_LLAMA_CPP_CHAT_TEMPLATE"):
        await ask(LlamaCppLlm(model=f"llama-cpp/{tiny}"), asked())
    settings = Settings(generator=AgentSettings(model=f"llama-cpp/{tiny}"))
    (found,) = [found for found in check_models(settings) if found.fix]
    assert "holds no chat template" in found.detail


def test_chat_template_is_found_in_the_metadata(tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "chat.gguf", chat_template="{{ messages[0].content }}")
    assert has_chat_template(path)


def weather(city: str, days: int = 1) -> str:
    """Forecast of the weather."""
    return f"{city}: rain for {days} days"


def with_tool() -> LlmRequest:
    request = asked(GeneratorOutput)
    request.append_tools([FunctionTool(weather)])
    return request


@pytest.mark.parametrize("seed", range(4))
async def test_any_weights_give_a_valid_answer_or_a_valid_call(
    seed: int, engine: LlamaEngine
) -> None:
    request = with_tool()
    request.config.seed = seed
    whole = (await ask(real(engine), request))[-1]
    (part,) = (whole.content.parts if whole.content else None) or []
    if part.function_call is None:
        GeneratorOutput.model_validate_json(part.text or "")
    else:
        assert part.function_call.name == "weather"
        assert isinstance((part.function_call.args or {})["city"], str)


async def test_tools_are_written_into_the_prompt_and_the_grammar(scripted: Any) -> None:
    model, server = scripted('{"tool": "weather", "arguments": {"city": "Oslo", "days": 2}}')
    request = with_tool()
    call = types.FunctionCall(id="c1", name="weather", args={"city": "Rome"})
    result = types.FunctionResponse(id="c1", name="weather", response={"result": "sun"})
    request.contents += [
        types.Content(role="model", parts=[types.Part(function_call=call)]),
        types.Content(role="user", parts=[types.Part(function_response=result)]),
    ]
    whole = (await ask(model, request))[-1]
    (made,) = (whole.content.parts if whole.content else None) or []
    assert made.function_call == types.FunctionCall(
        name="weather", args={"city": "Oslo", "days": 2}
    )
    (body,) = server.bodies
    assert "tools" not in body
    system, question, called, returned = body["messages"]
    assert system["content"].startswith("Fill in.")
    assert "- weather: Forecast of the weather." in system["content"]
    assert question == {"role": "user", "content": "hello"}
    assert json.loads(called["content"]) == {"tool": "weather", "arguments": {"city": "Rome"}}
    assert returned["content"] == 'weather returned: {"result": "sun"}'
    answer, tool = body["json_schema"]["anyOf"]
    assert "final_answer" in answer["properties"]
    assert tool["properties"]["tool"] == {"const": "weather"}


async def test_answer_beside_tools_is_an_answer(scripted: Any) -> None:
    text = '{"reasoning": [], "bullet_ids": [], "final_answer": "It rains."}'
    model, _ = scripted(text)
    assert text_of((await ask(model, with_tool()))[-1]) == text


async def test_file_that_is_no_model_is_told(tmp_path: Path) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"no model")
    with pytest.raises(ConfigError, match="cannot load"):
        await ask(LlamaCppLlm(model=f"llama-cpp/{path}"), asked())


def test_missing_extra_says_how_to_install_it(tiny: Path) -> None:
    with pytest.raises(ConfigError, match=r'pip install "acc-ace\[llama-cpp\]"'):
        load_server(tiny, OPTIONS, installed=lambda name: None)


class ScriptedServer:
    """A llama.cpp server that answers each call by script."""

    def __init__(self, *texts: str | Exception) -> None:
        self.texts = list(texts)
        self.bodies: list[Any] = []
        self.release = threading.Event()
        self.release.set()
        self.entered = threading.Semaphore(0)
        self.running = 0
        self.most_at_once = 0

    @property
    def asked(self) -> list[str]:
        """The user's text of each call, oldest first."""
        return [body["messages"][1]["content"] for body in self.bodies]

    async def has_started(self) -> None:
        """Wait until one more call has begun."""
        assert await asyncio.to_thread(self.entered.acquire, timeout=10)

    def handle_chat_completions(self, body: Any, on_chunk: Callable[[Chunk], bool], /) -> object:
        self.bodies.append(body)
        self.entered.release()
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        self.release.wait(timeout=10)
        text = self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]
        try:
            if isinstance(text, Exception):
                raise text
            choice = {"delta": {"content": text}, "finish_reason": "stop"}
            on_chunk({"choices": [choice]})
        finally:
            self.running -= 1
        return None


@pytest.fixture
def scripted() -> Iterator[Callable[..., tuple[LlamaCppLlm, ScriptedServer]]]:
    engines: list[LlamaEngine] = []

    def build(*texts: str | Exception) -> tuple[LlamaCppLlm, ScriptedServer]:
        server = ScriptedServer(*texts)
        engine = LlamaEngine(lambda: server)
        engines.append(engine)
        model = LlamaCppLlm(model="llama-cpp/x.gguf", engine=lambda path, options: engine)
        return model, server

    yield build
    for engine in engines:
        engine.close()


async def test_each_field_is_asked_with_a_schema_of_its_own(scripted: Any) -> None:
    texts = [json.dumps({name: None}) for name in CCS_FIELDS]
    model, server = scripted(*texts)
    await ask(model, asked(CompressedCognitiveState))
    shapes = [body["json_schema"] for body in server.bodies]
    assert [list(shape["properties"]) for shape in shapes] == [[name] for name in CCS_FIELDS]
    prefixes = {json.dumps(body["messages"][:-1]) for body in server.bodies}
    assert len(prefixes) == 1


async def test_field_without_an_answer_is_an_output_error_that_names_it(scripted: Any) -> None:
    model, _ = scripted('{"episodic_trace": "x"}', "{broken")
    with pytest.raises(ModelOutputError, match="no readable semantic_gist"):
        await ask(model, asked(CompressedCognitiveState))


async def test_calls_run_one_after_the_other(scripted: Any) -> None:
    model, server = scripted("fine")
    await asyncio.gather(*(ask(model, asked()) for _ in range(5)))
    assert (len(server.bodies), server.most_at_once) == (5, 1)


async def test_no_other_reply_comes_between_the_fields_of_one(scripted: Any) -> None:
    model, server = scripted(json.dumps(dict.fromkeys(CCS_FIELDS)))
    texts = ["one", "two", "three"]
    await asyncio.gather(*(ask(model, asked(CompressedCognitiveState, text)) for text in texts))
    assert [text for text, _ in groupby(server.asked)] == texts


class LoopTime:
    """The time of the running event loop, which a test can move on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._ahead = 0.0
        loop = asyncio.get_running_loop()
        real = loop.time
        monkeypatch.setattr(loop, "time", lambda: real() + self._ahead)

    async def advance(self, seconds: float) -> None:
        """Move on once all tasks wait, and let them answer it."""
        await settled()
        self._ahead += seconds
        await settled()


async def settled() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


@pytest.fixture
async def loop_time(monkeypatch: pytest.MonkeyPatch) -> LoopTime:
    return LoopTime(monkeypatch)


def limited(model: LlamaCppLlm) -> ResilientLlm:
    """With 60 seconds a call."""
    policy = AgentSettings(timeout_s=60, retries=0)
    return ResilientLlm(model=model.model, role="generator", policy=policy, primary=model)


async def test_waiting_for_other_replies_is_no_part_of_the_time_limit(
    scripted: Any, loop_time: LoopTime
) -> None:
    model, server = scripted("first", "second")
    server.release.clear()
    first = asyncio.create_task(ask(model, asked(text="one")))
    await server.has_started()
    second = asyncio.create_task(ask(limited(model), asked(text="two")))
    await loop_time.advance(61)
    server.release.set()
    assert text_of((await first)[-1]) == "first"
    assert text_of((await second)[-1]) == "second"
    assert server.asked == ["one", "two"]


async def test_the_time_limit_begins_with_the_reply(scripted: Any, loop_time: LoopTime) -> None:
    model, server = scripted("late")
    server.release.clear()
    call = asyncio.create_task(ask(limited(model), asked()))
    await server.has_started()
    await loop_time.advance(61)
    with pytest.raises(ModelUnavailable, match="did not answer in time"):
        await call
    server.release.set()


async def test_an_engine_that_stays_busy_is_told_and_not_waited_for_any_longer(
    scripted: Any, loop_time: LoopTime
) -> None:
    model, server = scripted("fine")
    server.release.clear()
    first = asyncio.create_task(ask(model, asked(text="one")))
    await server.has_started()
    second = asyncio.create_task(ask(limited(model), asked(text="two")))
    await loop_time.advance(60 * QUEUE_LIMITS + 1)
    with pytest.raises(ModelUnavailable, match=r"busy .* 600 s, 10 times ACC_ACE_GENERATOR__TIME"):
        await second
    server.release.set()
    await first
    await ask(model, asked(text="three"))
    assert server.asked == ["one", "three"]


async def test_a_request_cancelled_while_it_waits_is_not_begun(scripted: Any) -> None:
    model, server = scripted("fine")
    server.release.clear()
    first = asyncio.create_task(ask(model, asked(text="one")))
    await server.has_started()
    second = asyncio.create_task(ask(limited(model), asked(text="two")))
    await settled()
    second.cancel()
    await asyncio.wait([second])
    server.release.set()
    await first
    await ask(model, asked(text="three"))
    assert server.asked == ["one", "three"]


async def test_who_reads_a_reply_slowly_holds_up_no_other(scripted: Any) -> None:
    model, _ = scripted("fine")
    reading: AsyncGenerator[LlmResponse, None] = limited(model).generate_content_async(
        asked(), stream=True
    )
    await anext(reading)
    assert text_of((await ask(limited(model), asked()))[-1]) == "fine"
    assert text_of([item async for item in reading][-1]) == "fine"


async def test_output_that_llama_cpp_cannot_read_is_an_output_error(scripted: Any) -> None:
    model, _ = scripted(RuntimeError("does not match the expected format"))
    with pytest.raises(ModelOutputError, match="does not match"):
        await ask(model, asked())


async def test_call_given_up_does_not_answer_the_next_one(scripted: Any) -> None:
    model, server = scripted("first", "second")
    server.release.clear()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await ask(model, asked())
    server.release.set()
    assert text_of((await ask(model, asked()))[-1]) == "second"


def test_bounds_reach_every_text_and_list_and_keep_stricter_ones() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]},
            "c": {"type": "array", "items": {"$ref": "#/$defs/C"}},
            "d": {"type": "string", "enum": ["x"]},
        },
        "$defs": {"C": {"type": "object", "properties": {"e": {"type": "string"}}}},
    }
    found = bounded_schema(schema, text_chars=100, item_chars=10, items=4)
    properties = found["properties"]
    assert properties["a"]["maxLength"] == 100
    assert properties["b"]["anyOf"][0]["maxLength"] == 3
    assert properties["c"]["maxItems"] == 4
    assert "maxLength" not in properties["d"]
    assert found["$defs"]["C"]["properties"]["e"]["maxLength"] == 10


async def test_error_of_the_engine_while_streaming_is_reported(scripted: Any) -> None:
    model, server = scripted("x")
    server.handle_chat_completions = lambda body, on_chunk: on_chunk({"error": {"code": 500}})
    with pytest.raises(ModelUnavailable):
        await ask(model, asked())
