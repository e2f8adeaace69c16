"""The Gemini path over real HTTP: google-genai against a fake Gemini server on loopback."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import BaseModel

from acc_ace import build_model
from acc_ace.core.text.reply_reading import read_reply
from acc_ace.errors import ConfigError, ModelOutputError, ModelRefused, ModelUnavailable
from acc_ace.models.reply_bounds import answered_by, use_of
from acc_ace.models.resilient import ResilientLlm
from config import AgentSettings, Role, Settings
from schemas.ccs import CCS_FIELDS
from schemas.commit import CompressorReply
from schemas.delta import DeltaBatch
from schemas.generation import GeneratorOutput
from schemas.qualification import RelevanceBatch
from schemas.reflection import Reflection
from tests.fakes.fake_gemini import (
    THOUGHT_TOKENS,
    FakeGemini,
    blocked_prompt,
    broken_stream,
    calls_functions,
    empty,
    empty_text,
    fake_gemini,
    garbage,
    http_error,
    safety_stop,
    says,
    says_json,
    stalled,
    thought_only,
    truncated,
    without_usage,
)
from tests.fakes.loopback import HttpReply

SCHEMAS: dict[Role, type[BaseModel]] = {
    "qualifier": RelevanceBatch,
    "compressor": CompressorReply,
    "generator": GeneratorOutput,
    "reflector": Reflection,
    "curator": DeltaBatch,
}

LONG_ADVICE = "You exceeded your current quota. " + "For help see https://ai.google.dev/x. " * 20
"""As Google words it: the name of the quota is in the details."""

FAST = AgentSettings(model="gemini-3.5-flash", backoff_s=0, retries=2, timeout_s=30)


@pytest.fixture
def gemini(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGemini]:
    with fake_gemini() as fake:
        monkeypatch.setenv("GOOGLE_API_KEY", "test-key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", fake.base_url)
        yield fake


def model_for(role: Role, **changes: Any) -> BaseLlm:
    block = FAST.model_copy(update=changes)
    return build_model(role, Settings().model_copy(update={role: block}))


def asked(role: Role, text: str = "hello") -> LlmRequest:
    request = LlmRequest(
        contents=[types.Content(role="user", parts=[types.Part(text=text)])],
        config=types.GenerateContentConfig(
            system_instruction="You play a role.", temperature=0.2, max_output_tokens=777
        ),
    )
    request.set_output_schema(SCHEMAS[role])
    return request


async def ask(
    role: Role, model: BaseLlm | None = None, *, stream: bool = False
) -> list[LlmResponse]:
    responses = (model or model_for(role)).generate_content_async(asked(role), stream=stream)
    return [item async for item in responses]


def text_of(response: LlmResponse) -> str:
    parts = (response.content.parts if response.content else None) or []
    return "".join(part.text or "" for part in parts)


@pytest.mark.parametrize("role", list(SCHEMAS))
async def test_structured_request_of_each_role_is_on_the_wire(
    role: Role, gemini: FakeGemini
) -> None:
    responses = await ask(role)
    read_reply(SCHEMAS[role], text_of(responses[-1]))
    sent = gemini.requests[0]
    config = sent.body["generationConfig"]
    assert (sent.role, sent.model, sent.stream) == (role, "gemini-3.5-flash", False)
    assert sent.body["systemInstruction"]["parts"] == [{"text": "You play a role."}]
    assert config["responseMimeType"] == "application/json"
    assert set(config["responseSchema"]["properties"]) == set(
        SCHEMAS[role].model_json_schema()["properties"]
    )
    assert (config["temperature"], config["maxOutputTokens"]) == (0.2, 777)
    assert sent.headers["x-goog-api-key"] == "test-key"


CARRIED = {"goal_orientation", "constraints", "episodic_trace", "retrieved_artifacts"}
"""Fields of the state that code carries or makes."""


async def test_the_compressor_is_asked_for_what_code_does_not_carry_over(
    gemini: FakeGemini,
) -> None:
    await ask("compressor")
    schema = gemini.requests[0].body["generationConfig"]["responseSchema"]
    asked = [name for name in CCS_FIELDS if name not in CARRIED]
    own = ["input_is", "asks_to_forget", "about_user", "rule_changes"]
    assert list(schema["properties"]) == [*asked, *own]


async def test_stream_arrives_in_chunks_and_ends_with_the_whole(gemini: FakeGemini) -> None:
    answer = {"reasoning": [], "bullet_ids": [], "final_answer": "a long answer, " * 8}
    gemini.script("generator", says_json(answer))
    *chunks, whole = await ask("generator", stream=True)
    assert gemini.requests[0].stream
    assert len(chunks) > 3
    assert all(chunk.partial for chunk in chunks)
    assert "".join(map(text_of, chunks)) == text_of(whole) == json.dumps(answer)
    assert not whole.partial
    assert whole.usage_metadata is not None
    assert whole.usage_metadata.prompt_token_count == 11


@pytest.mark.parametrize("stream", [False, True])
async def test_429_is_retried_until_it_answers(stream: bool, gemini: FakeGemini) -> None:
    gemini.script("compressor", http_error(429), http_error(503), says("{}"))
    responses = await ask("compressor", stream=stream)
    assert text_of(responses[-1]) == "{}"
    assert len(gemini.requests) == 3
    assert answered_by(responses[-1]).warnings == ()


async def test_retries_are_only_ours(gemini: FakeGemini) -> None:
    gemini.script("compressor", http_error(503))
    with pytest.raises(ModelUnavailable, match=r"compressor: model gemini-3.5-flash .* 503"):
        await ask("compressor", model_for("compressor", retries=0))
    assert len(gemini.requests) == 1


async def test_retry_after_header_takes_the_place_of_the_backoff(gemini: FakeGemini) -> None:
    gemini.script("compressor", http_error(429, retry_after="0"), says("{}"))
    model = model_for("compressor", backoff_s=60, retries=1)
    assert text_of((await ask("compressor", model))[-1]) == "{}"


@pytest.mark.parametrize("stream", [False, True])
async def test_503_falls_back_to_the_other_model_with_a_warning(
    stream: bool, gemini: FakeGemini
) -> None:
    def down_or_fine(received: Any) -> HttpReply:
        return http_error(503) if received.model == "gemini-3.5-flash" else says("{}")

    gemini.script("compressor", down_or_fine)
    model = model_for("compressor", retries=1, fallback="gemini-3.1-flash-lite")
    responses = await ask("compressor", model, stream=stream)
    reported = answered_by(responses[-1])
    assert [item.model for item in gemini.requests] == [
        "gemini-3.5-flash",
        "gemini-3.5-flash",
        "gemini-3.1-flash-lite",
    ]
    assert reported.model == "gemini-3.1-flash-lite"
    assert "answered by fallback gemini-3.1-flash-lite" in reported.warnings[0]


async def test_silent_server_is_given_up_after_the_timeout(gemini: FakeGemini) -> None:
    gemini.script("compressor", says("{}", delay_s=30))
    with pytest.raises(ModelUnavailable, match="did not answer in time"):
        await ask("compressor", model_for("compressor", timeout_s=0.2, retries=0))


async def test_closing_the_model_closes_its_connections(gemini: FakeGemini) -> None:
    """With httpx as with aiohttp, which google-genai takes where it is installed."""
    this = pytest.importorskip("psutil").Process()
    port = int(gemini.base_url.rpartition(":")[2])

    def connected() -> int:
        remotes = [each.raddr for each in this.net_connections() if each.status == "ESTABLISHED"]
        return sum(bool(remote) and remote.port == port for remote in remotes)

    gemini.script("compressor", replace(says("{}"), headers={"connection": "keep-alive"}))
    model = model_for("compressor")
    await ask("compressor", model)
    assert connected() == 1
    assert isinstance(model, ResilientLlm)
    await model.aclose()
    assert connected() == 0


async def test_deadline_told_to_the_api_is_never_under_its_minimum(gemini: FakeGemini) -> None:
    await ask("compressor", model_for("compressor", timeout_s=5))
    assert gemini.requests[0].headers["x-server-timeout"] == "10"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("reply", [blocked_prompt(), blocked_prompt("SAFETY"), safety_stop()])
async def test_safety_block_is_refused_at_once(
    reply: HttpReply, stream: bool, gemini: FakeGemini
) -> None:
    gemini.script("compressor", reply)
    model = model_for("compressor", fallback="gemini-3.1-flash-lite")
    with pytest.raises(ModelRefused, match="refused to answer"):
        await ask("compressor", model, stream=stream)
    assert len(gemini.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("reply", [empty(), empty_text()])
async def test_empty_reply_is_asked_again_once_then_an_output_error(
    reply: HttpReply, stream: bool, gemini: FakeGemini
) -> None:
    gemini.script("compressor", reply)
    with pytest.raises(ModelOutputError, match="empty reply"):
        await ask("compressor", stream=stream)
    assert len(gemini.requests) == 2


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("text", ["no JSON at all", '{"other": 1}', '{"episodic_trace": 5}'])
async def test_malformed_and_foreign_json_pass_through_for_the_stage_to_judge(
    text: str, stream: bool, gemini: FakeGemini
) -> None:
    gemini.script("compressor", says(text))
    assert text_of((await ask("compressor", stream=stream))[-1]) == text


@pytest.mark.parametrize("stream", [False, True])
async def test_reply_cut_twice_passes_with_its_finish_reason(
    stream: bool, gemini: FakeGemini
) -> None:
    gemini.script("compressor", truncated('{"episodic_tr'))
    whole = (await ask("compressor", stream=stream))[-1]
    assert text_of(whole) == '{"episodic_tr'
    assert whole.finish_reason is types.FinishReason.MAX_TOKENS
    # What was streamed belongs to the reply; what was not is asked for once more.
    assert limits_sent(gemini) == ([777] if stream else [777, 1_554])


@pytest.mark.parametrize("stream", [False, True])
async def test_thoughts_that_ate_the_reply_get_twice_the_room(
    stream: bool, gemini: FakeGemini
) -> None:
    gemini.script("compressor", thought_only(), says("{}"))
    whole = (await ask("compressor", stream=stream))[-1]
    assert text_of(whole) == "{}"
    assert limits_sent(gemini) == [777, 1_554]
    assert answered_by(whole).failed.thinking == THOUGHT_TOKENS


def limits_sent(gemini: FakeGemini) -> list[int]:
    return [item.body["generationConfig"]["maxOutputTokens"] for item in gemini.requests]


async def test_server_that_stalls_within_the_json_is_left_after_the_timeout(
    gemini: FakeGemini,
) -> None:
    gemini.script("compressor", stalled('{"episodic_trace": "The disk'))
    model = model_for("compressor", timeout_s=0.5, retries=0)
    with pytest.raises(ModelUnavailable, match="did not answer in time"):
        await ask("compressor", model, stream=True)


@pytest.mark.parametrize("stream", [False, True])
async def test_used_up_quota_is_asked_once_by_all_roles_together(
    stream: bool, gemini: FakeGemini
) -> None:
    def exhausted(received: Any) -> HttpReply:
        if received.model != "gemini-3.5-flash":
            return says("{}")
        return http_error(429, LONG_ADVICE, retry_delay="600s", quota="PerMinute", limit="5")

    roles: tuple[Role, ...] = ("compressor", "generator", "curator")
    for role in roles:
        gemini.script(role, exhausted)
        model = model_for(role, fallback="gemini-3.1-flash-lite")
        (warning,) = answered_by((await ask(role, model, stream=stream))[-1]).warnings
        assert "no quota left, PerMinute (limit 5)" in warning
        assert "answered by fallback gemini-3.1-flash-lite" in warning
    first = [item.model for item in gemini.requests].count("gemini-3.5-flash")
    assert (first, len(gemini.requests)) == (1, 4)


async def test_used_up_quota_without_a_fallback_fails_at_once_with_its_name_and_time(
    gemini: FakeGemini,
) -> None:
    gemini.script(
        "compressor",
        http_error(429, LONG_ADVICE, retry_delay="600s", quota="PerMinute", limit="5"),
    )
    with pytest.raises(ModelUnavailable, match=r"PerMinute \(limit 5\).*wait for 600 s"):
        await ask("compressor")
    with pytest.raises(ModelUnavailable, match=r"is not asked before .* UTC.*PerMinute"):
        await ask("compressor")
    assert len(gemini.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_reply_without_usage_data_is_counted_by_estimate_and_says_so(
    stream: bool, gemini: FakeGemini
) -> None:
    gemini.script("compressor", without_usage(says("{}")))
    use = use_of((await ask("compressor", stream=stream))[-1])
    assert use.estimated
    assert (use.input > 0, use.output > 0) == (True, True)


@pytest.mark.parametrize("stream", [False, True])
async def test_output_limit_spent_on_thinking_says_what_to_raise(
    stream: bool, gemini: FakeGemini
) -> None:
    gemini.script("compressor", thought_only())
    with pytest.raises(ModelOutputError, match="raise max_output_tokens"):
        await ask("compressor", stream=stream)


@pytest.mark.parametrize("stream", [False, True])
async def test_body_that_is_no_json_is_an_output_error(stream: bool, gemini: FakeGemini) -> None:
    gemini.script("compressor", garbage())
    with pytest.raises(ModelOutputError, match="cannot be read"):
        await ask("compressor", stream=stream)


async def test_rejected_request_is_refused_with_googles_words(gemini: FakeGemini) -> None:
    gemini.script("compressor", http_error(400, "schema is too deep"))
    with pytest.raises(ModelRefused, match="schema is too deep"):
        await ask("compressor")
    assert len(gemini.requests) == 1


async def test_schema_that_is_too_complex_is_left_to_the_fallback_and_not_repeated(
    gemini: FakeGemini,
) -> None:
    def too_complex(received: Any) -> HttpReply:
        words = "The specified schema produces a constraint that has too many states for serving"
        return http_error(400, words) if received.model == "gemini-3.5-flash" else says("{}")

    gemini.script("compressor", too_complex)
    model = model_for("compressor", fallback="gemini-3.1-flash-lite")
    (warning,) = answered_by((await ask("compressor", model))[-1]).warnings
    assert "too many states for serving" in warning
    assert len(gemini.requests) == 2


async def test_stream_that_breaks_after_a_chunk_is_not_started_again(gemini: FakeGemini) -> None:
    gemini.script("generator", broken_stream("Once upon"))
    model = model_for("generator", fallback="gemini-3.1-flash-lite")
    responses = model.generate_content_async(asked("generator"), stream=True)
    assert text_of(await anext(responses)) == "Once upon"
    with pytest.raises(ModelUnavailable):
        await anext(responses)
    assert len(gemini.requests) == 1


async def test_unreachable_server_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "test-key")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1")
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        await ask("compressor")


async def test_missing_key_is_told_with_what_to_set() -> None:
    with pytest.raises(ConfigError, match="GOOGLE_API_KEY"):
        await ask("compressor")


def get_weather(city: str) -> dict[str, str]:
    """Tell the weather of a city."""
    return {"weather": f"rain in {city}"}


@pytest.mark.parametrize("streaming", [StreamingMode.NONE, StreamingMode.SSE])
async def test_tool_loop_goes_over_the_wire_with_the_schema_kept(
    streaming: StreamingMode, gemini: FakeGemini
) -> None:
    both = [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "東京"})]
    answer = {"reasoning": [], "bullet_ids": [], "final_answer": "It rains in both."}
    gemini.script("generator", calls_functions(*both), says_json(answer))
    agent = LlmAgent(
        name="generator",
        model=model_for("generator"),
        instruction="Answer.",
        tools=[get_weather],
        output_schema=GeneratorOutput,
    )
    events = await run(agent, "Weather in Oslo and 東京?", streaming)
    first, second = gemini.requests
    assert first.body["tools"][0]["functionDeclarations"][0]["name"] == "get_weather"
    assert [item["name"] for item in first.body["tools"][0]["functionDeclarations"]] == [
        "get_weather"
    ]
    assert first.body["generationConfig"]["responseSchema"]["title"] == "GeneratorOutput"
    results = [
        part["functionResponse"]["response"]["weather"]
        for part in second.body["contents"][-1]["parts"]
    ]
    assert results == ["rain in Oslo", "rain in 東京"]
    answers = [event for event in events if event.is_final_response() and not event.partial]
    assert "It rains in both." in text_of(answers[-1])


async def run(agent: LlmAgent, text: str, streaming: StreamingMode) -> list[Event]:
    runner = InMemoryRunner(agent=agent, app_name="wire")
    session = await runner.session_service.create_session(app_name="wire", user_id="u")
    message = types.Content(role="user", parts=[types.Part(text=text)])
    events = runner.run_async(
        user_id="u",
        session_id=session.id,
        new_message=message,
        run_config=RunConfig(streaming_mode=streaming),
    )
    return [event async for event in events]
