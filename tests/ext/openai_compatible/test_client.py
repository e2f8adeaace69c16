"""OpenAI-compatible endpoints, over real HTTP against a fake one on loopback."""

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import SecretStr

from acc_ace import build_model, register_models
from acc_ace.errors import ConfigError, InputError, ModelOutputError, ModelRefused, ModelUnavailable
from acc_ace.ext.openai_compatible.client import OpenAICompatibleLlm
from acc_ace.models.reply_bounds import answered_by, use_of
from config import AgentSettings, Settings
from schemas.generation import GeneratorOutput
from schemas.qualification import RelevanceBatch
from tests.fakes.fake_openai import (
    FakeOpenAI,
    broken_stream,
    calls_functions,
    error_in_stream,
    fake_openai,
    http_error,
    refuses,
    says,
)
from tests.fakes.loopback import HttpReply, Received


@pytest.fixture
def endpoint() -> Iterator[FakeOpenAI]:
    with fake_openai() as fake:
        yield fake


def asked(text: str = "hello", *, schema: Any = None) -> LlmRequest:
    request = LlmRequest(
        contents=[types.Content(role="user", parts=[types.Part(text=text)])],
        config=types.GenerateContentConfig(
            system_instruction="Be brief.", temperature=0.3, max_output_tokens=99
        ),
    )
    if schema is not None:
        request.set_output_schema(schema)
    return request


def llm(endpoint: FakeOpenAI, **options: Any) -> OpenAICompatibleLlm:
    return OpenAICompatibleLlm(model="openai/qwen3:4b", base_url=endpoint.base_url, **options)


async def ask(
    model: Any, request: LlmRequest | None = None, *, stream: bool = False
) -> list[LlmResponse]:
    responses = model.generate_content_async(request or asked(), stream=stream)
    return [item async for item in responses]


def text_of(response: LlmResponse) -> str:
    parts = (response.content.parts if response.content else None) or []
    return "".join(part.text or "" for part in parts)


async def test_request_carries_system_sampling_and_key(endpoint: FakeOpenAI) -> None:
    await ask(llm(endpoint, api_key=SecretStr("s3cret")))
    sent = endpoint.requests[0]
    assert sent.model == "qwen3:4b"
    assert sent.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hello"},
    ]
    assert (sent.body["temperature"], sent.body["max_tokens"]) == (0.3, 99)
    assert sent.headers["authorization"] == "Bearer s3cret"
    assert "tools" not in sent.body
    assert "response_format" not in sent.body


async def test_reply_is_bound_to_its_schema_and_to_nothing_beside_it(endpoint: FakeOpenAI) -> None:
    responses = await ask(llm(endpoint), asked(schema=GeneratorOutput))
    GeneratorOutput.model_validate_json(text_of(responses[-1]))
    bound = endpoint.requests[0].body["response_format"]["json_schema"]
    closed = {**GeneratorOutput.model_json_schema(), "additionalProperties": False}
    assert bound == {"name": "GeneratorOutput", "schema": closed}


def kinds_of(endpoint: FakeOpenAI) -> list[str]:
    return [item.body["response_format"]["type"] for item in endpoint.requests]


async def test_endpoint_without_schemas_gets_a_json_object_and_is_remembered() -> None:
    with fake_openai(knows_schemas=False) as endpoint:
        model = llm(endpoint)
        for _ in range(3):
            responses = await ask(model, asked(schema=RelevanceBatch), stream=True)
            RelevanceBatch.model_validate_json(text_of(responses[-1]))
        both = ["json_schema", "json_object"]
        assert kinds_of(endpoint) == [*both, *both, "json_object"]
        assert '"decisions"' in endpoint.requests[1].body["messages"][0]["content"]
        await ask(model, asked(schema=GeneratorOutput))
        assert kinds_of(endpoint)[5:] == both


async def test_refused_schema_is_tried_again_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("acc_ace.ext.openai_compatible.client.WITHOUT_SCHEMA_S", 0.0)
    with fake_openai(knows_schemas=False) as endpoint:
        model = llm(endpoint)
        for _ in range(3):
            await ask(model, asked(schema=RelevanceBatch))
        assert kinds_of(endpoint) == ["json_schema", "json_object"] * 3


async def test_one_refusal_does_not_turn_schemas_off(endpoint: FakeOpenAI) -> None:
    model = llm(endpoint)
    for number in (0, 3):
        endpoint.script(number, http_error(400, "busy"), says('{"decisions": []}'))
        for _ in range(2):
            await ask(model, asked(schema=RelevanceBatch))
    once = ["json_schema", "json_object", "json_schema"]
    assert kinds_of(endpoint) == [*once, *once]


async def test_first_calls_at_once_are_all_answered_by_an_endpoint_without_schemas(
    endpoint: FakeOpenAI,
) -> None:
    let_go = threading.Event()

    def without_schemas(received: Received) -> HttpReply:
        if received.body["response_format"]["type"] != "json_schema":
            return says('{"decisions": []}')
        refusal = http_error(400, "unknown response_format")
        return replace(refusal, held=let_go) if "slow" in received.text else refusal

    endpoint.script(0, *[without_schemas] * 4)
    model = llm(endpoint)
    slow = asyncio.create_task(ask(model, asked("slow", schema=RelevanceBatch)))
    await ask(model, asked("quick", schema=RelevanceBatch))
    let_go.set()
    RelevanceBatch.model_validate_json(text_of((await slow)[-1]))


async def test_400_that_is_not_about_the_schema_tells_both_answers(endpoint: FakeOpenAI) -> None:
    endpoint.script(0, http_error(400, "context too long"), http_error(400, "still too long"))
    with pytest.raises(ModelRefused, match=r"still too long.*context too long"):
        await ask(llm(endpoint), asked(schema=RelevanceBatch))


async def test_stream_comes_in_chunks_and_ends_with_the_whole(endpoint: FakeOpenAI) -> None:
    text = "東京は雨です。" * 20
    endpoint.script("generator", says(text))
    *chunks, whole = await ask(llm(endpoint), stream=True)
    assert len(chunks) > 3
    assert all(chunk.partial for chunk in chunks)
    assert "".join(map(text_of, chunks)) == text_of(whole) == text
    assert whole.finish_reason is types.FinishReason.STOP
    assert whole.usage_metadata is not None
    assert whole.usage_metadata.prompt_token_count == 13
    assert whole.usage_metadata.candidates_token_count == 5
    assert endpoint.requests[0].body["stream_options"] == {"include_usage": True}


async def test_usage_that_the_endpoint_does_not_report_is_estimated_and_marked(
    endpoint: FakeOpenAI,
) -> None:
    endpoint.script("generator", says("four words are here", usage=False))
    use = use_of((await ask(resilient(endpoint)))[-1])
    assert use.estimated
    assert (use.input > 0, use.output) == (True, 4)


def counts(usage: Any) -> HttpReply:
    """An answer whose endpoint reports that usage, whole and streamed."""
    reply = says("yes, four words", usage=False)
    *chunks, last = reply.chunks
    assert isinstance(reply.body, dict)
    body = {**reply.body, "usage": usage, "created": "1764200000"}
    return replace(reply, body=body, chunks=[*chunks, {**last, "usage": usage}])


@pytest.mark.parametrize("stream", [False, True])
async def test_numbers_of_an_endpoint_may_be_texts(endpoint: FakeOpenAI, *, stream: bool) -> None:
    details = {"reasoning_tokens": "2"}
    usage = {"prompt_tokens": "3", "completion_tokens": "7", "completion_tokens_details": details}
    endpoint.script("generator", counts({**usage, "total_tokens": "10"}))
    whole = (await ask(resilient(endpoint), stream=stream))[-1]
    use = use_of(whole)
    assert text_of(whole) == "yes, four words"
    assert (use.input, use.output, use.thinking, use.estimated) == (3, 5, 2, False)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "usage",
    [
        *("many", 7, [13, 5], {"prompt_tokens": "many"}, {"prompt_tokens": [13]}),
        *({"prompt_tokens": -13, "completion_tokens": 5}, {"prompt_tokens": 10**40}),
        {"prompt_tokens": 13, "completion_tokens_details": "none"},
    ],
)
async def test_usage_that_cannot_be_read_is_estimated_and_loses_no_answer(
    endpoint: FakeOpenAI, usage: object, *, stream: bool
) -> None:
    endpoint.script("generator", counts(usage))
    whole = (await ask(resilient(endpoint), stream=stream))[-1]
    assert text_of(whole) == "yes, four words"
    assert use_of(whole).estimated
    assert use_of(whole).input > 0


async def test_pieces_of_calls_are_put_together_by_indexes_that_are_texts(
    endpoint: FakeOpenAI,
) -> None:
    reply = calls_functions(("weather", {"city": "Kyoto"}), ("clock", {"zone": "JST"}))
    for chunk in reply.chunks[:-1]:
        (call,) = chunk["choices"][0]["delta"]["tool_calls"]
        call["index"] = str(call["index"])
    endpoint.script("generator", reply)
    calls = (await ask(llm(endpoint), stream=True))[-1].get_function_calls()
    named = [(call.name, call.args) for call in calls]
    assert named == [("weather", {"city": "Kyoto"}), ("clock", {"zone": "JST"})]


@pytest.mark.parametrize(
    ("reported", "meant"),
    [
        ("stop", types.FinishReason.STOP),
        ("length", types.FinishReason.MAX_TOKENS),
        ("content_filter", types.FinishReason.SAFETY),
        ("eccentric", types.FinishReason.OTHER),
    ],
)
async def test_finish_reasons_are_mapped(
    reported: str, meant: types.FinishReason, endpoint: FakeOpenAI
) -> None:
    endpoint.script("generator", says("text", finish=reported))
    assert (await ask(llm(endpoint)))[-1].finish_reason is meant


async def test_refusal_is_a_safety_stop(endpoint: FakeOpenAI) -> None:
    endpoint.script("generator", refuses("I cannot help with that."))
    with pytest.raises(ModelRefused, match="I cannot help with that"):
        await ask(resilient(endpoint))


@pytest.mark.parametrize("streaming", [StreamingMode.NONE, StreamingMode.SSE])
async def test_parallel_tool_calls_keep_their_ids_both_ways(
    streaming: StreamingMode, endpoint: FakeOpenAI
) -> None:
    def get_weather(city: str) -> dict[str, str]:
        """Tell the weather of a city."""
        return {"weather": f"rain in {city}"}

    both = [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "東京"})]
    endpoint.script("generator", calls_functions(*both), says("It rains in both."))
    agent = LlmAgent(name="a", model=llm(endpoint), instruction="Answer.", tools=[get_weather])
    runner = InMemoryRunner(agent=agent, app_name="wire")
    session = await runner.session_service.create_session(app_name="wire", user_id="u")
    message = types.Content(role="user", parts=[types.Part(text="Weather?")])
    config = RunConfig(streaming_mode=streaming)
    events = runner.run_async(
        user_id="u", session_id=session.id, new_message=message, run_config=config
    )
    answers = [event async for event in events if event.is_final_response() and event.content]
    assert answers[-1].content is not None
    assert (answers[-1].content.parts or [])[0].text == "It rains in both."
    tool = endpoint.requests[0].body["tools"][0]["function"]
    assert tool["parameters"]["properties"]["city"]["type"] == "string"
    *_, assistant, first, second = endpoint.requests[1].body["messages"]
    assert [call["id"] for call in assistant["tool_calls"]] == [
        "call_get_weather_0",
        "call_get_weather_1",
    ]
    assert json.loads(assistant["tool_calls"][1]["function"]["arguments"]) == {"city": "東京"}
    assert (first["role"], first["tool_call_id"]) == ("tool", "call_get_weather_0")
    assert (second["role"], second["tool_call_id"]) == ("tool", "call_get_weather_1")
    assert json.loads(second["content"]) == {"weather": "rain in 東京"}


def bad_arguments() -> HttpReply:
    function = {"name": "f", "arguments": "{not json"}
    message = {"tool_calls": [{"id": "1", "function": function}]}
    return HttpReply(body={"choices": [{"message": message, "finish_reason": "tool_calls"}]})


async def test_endpoint_that_streams_nothing_is_read_too(endpoint: FakeOpenAI) -> None:
    reply = replace(says("whole at once"), never_streams=True)
    endpoint.script("generator", reply)
    assert text_of((await ask(llm(endpoint)))[-1]) == "whole at once"


async def test_arguments_that_are_no_json_are_an_output_error(endpoint: FakeOpenAI) -> None:
    endpoint.script("generator", replace(bad_arguments(), never_streams=True))
    with pytest.raises(ModelOutputError, match="called f with arguments"):
        await ask(llm(endpoint))


async def test_image_is_an_input_error_before_anything_is_sent(endpoint: FakeOpenAI) -> None:
    request = asked()
    image = types.Part(inline_data=types.Blob(data=b"x", mime_type="image/png"))
    request.contents[0].parts = [image]
    with pytest.raises(InputError, match="takes text only, not image/png"):
        await ask(llm(endpoint), request)
    assert endpoint.requests == []


def resilient(endpoint: FakeOpenAI, **changes: Any) -> Any:
    block = AgentSettings(model="openai/qwen3:4b", backoff_s=0, retries=2, **changes)
    return build_model("generator", Settings(generator=block, openai_base_url=endpoint.base_url))


@pytest.mark.parametrize("stream", [False, True])
async def test_429_is_retried_and_503_falls_back(stream: bool, endpoint: FakeOpenAI) -> None:
    def second_only(received: Any) -> HttpReply:
        return says("fine") if received.model == "second" else http_error(503)

    endpoint.script("generator", http_error(429, retry_after="0"), second_only)
    responses = await ask(resilient(endpoint, fallback="openai/second"), stream=stream)
    reported = answered_by(responses[-1])
    assert text_of(responses[-1]) == "fine"
    assert [item.model for item in endpoint.requests] == ["qwen3:4b"] * 3 + ["second"]
    assert reported.model == "openai/second"
    assert "HTTP 503" in reported.warnings[0]


async def test_wrong_key_is_refused_and_never_shown(endpoint: FakeOpenAI) -> None:
    endpoint.script("generator", http_error(401, "bad key"))
    with pytest.raises(ModelRefused, match="HTTP 401: bad key") as raised:
        await ask(llm(endpoint, api_key=SecretStr("s3cret")))
    assert "s3cret" not in str(raised.value)
    assert "s3cret" not in repr(llm(endpoint, api_key=SecretStr("s3cret")))


@pytest.mark.parametrize("reply", [broken_stream("Once"), error_in_stream("Once")])
async def test_stream_that_breaks_is_not_started_again(
    reply: HttpReply, endpoint: FakeOpenAI
) -> None:
    endpoint.script("generator", reply)
    responses = resilient(endpoint).generate_content_async(asked(), stream=True)
    assert text_of(await anext(responses)) == "Once"
    with pytest.raises(ModelUnavailable):
        await anext(responses)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    "body", ["<html>", "[]", "null", '{"choices": [3]}', '{"choices": [{"message": "x"}]}']
)
async def test_reply_that_is_no_completion_is_an_output_error(
    body: str, endpoint: FakeOpenAI
) -> None:
    endpoint.script("generator", HttpReply(body=body))
    with pytest.raises(ModelOutputError):
        await ask(llm(endpoint))


async def test_endless_reply_is_cut_off(endpoint: FakeOpenAI) -> None:
    endpoint.script("generator", HttpReply(body="x" * (32 * 2**20 + 1)))
    with pytest.raises(ModelOutputError, match="more than"):
        await ask(llm(endpoint))


async def test_base_url_that_is_none_names_the_setting() -> None:
    model = OpenAICompatibleLlm(model="openai/x", base_url="localhost:11434")
    with pytest.raises(ConfigError, match="ACC_ACE_OPENAI_BASE_URL"):
        await ask(model)


async def test_registered_name_works_in_an_agent_with_settings_from_the_environment(
    endpoint: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACC_ACE_OPENAI_BASE_URL", endpoint.base_url)
    monkeypatch.setenv("ACC_ACE_OPENAI_API_KEY", "from-env")
    register_models()
    model = LlmAgent(name="a", model="openai/qwen3:4b").canonical_model
    assert isinstance(model, OpenAICompatibleLlm)
    await ask(model)
    assert endpoint.requests[0].headers["authorization"] == "Bearer from-env"
