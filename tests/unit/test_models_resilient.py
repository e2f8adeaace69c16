"""Retries, fallback and failures of ResilientLlm."""

import asyncio
import random
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta

import pytest
from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from google.genai.errors import APIError, ServerError
from hypothesis import given
from hypothesis import strategies as st

from acc_ace import build_model
from acc_ace.clock import TimeBudget
from acc_ace.errors import (
    ConfigError,
    InputError,
    ModelError,
    ModelOutputError,
    ModelRefused,
    ModelUnavailable,
)
from acc_ace.models.breaker import Breaker
from acc_ace.models.failures import MAX_WAIT_S
from acc_ace.models.reply_bounds import answered_by, use_of
from acc_ace.models.resilient import ResilientLlm
from config import AgentSettings, Settings
from schemas.report import TokenUse
from tests.fakes.extensions import needs
from tests.fakes.scripted_llm import Script, ScriptedLlm, text_content


def overloaded(code: int = 503, **details: object) -> APIError:
    return ServerError(code, {"error": {"code": code, "status": "UNAVAILABLE", **details}})


def asked(text: str = "hello") -> LlmRequest:
    return LlmRequest(contents=[types.Content(role="user", parts=[types.Part(text=text)])])


def texts(responses: list[LlmResponse]) -> list[str]:
    return [
        "".join(part.text or "" for part in (item.content.parts or [])) if item.content else ""
        for item in responses
    ]


class Waits:
    """A sleep that only remembers."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def resilient(
    *scripts: Script,
    fallback: ScriptedLlm | None = None,
    retries: int = 3,
    backoff_s: float = 0.5,
    timeout_s: float = 60,
    waits: Waits | None = None,
    seed: int = 0,
) -> tuple[ResilientLlm, ScriptedLlm]:
    primary = ScriptedLlm(model="scripted/primary").on("generator", *scripts)
    policy = AgentSettings(retries=retries, backoff_s=backoff_s, timeout_s=timeout_s)
    model = ResilientLlm(
        model=primary.model,
        role="generator",
        policy=policy,
        primary=primary,
        fallback=fallback,
        sleep=waits or Waits(),
        rng=random.Random(seed),
    )
    return model, primary


async def ask(
    model: ResilientLlm, request: LlmRequest | None = None, *, stream: bool = False
) -> list[LlmResponse]:
    responses = model.generate_content_async(request or asked(), stream=stream)
    return [response async for response in responses]


@pytest.mark.parametrize("error", [overloaded(), overloaded(429), TimeoutError(), OSError("down")])
async def test_transient_failure_is_tried_again(error: Exception) -> None:
    model, primary = resilient(error, error, "fine")
    responses = await ask(model)
    assert texts(responses) == ["fine"]
    assert len(primary.requests) == 3
    assert answered_by(responses[0])[:2] == ("scripted/primary", ())


async def test_tries_end_after_the_retries_and_name_model_and_role() -> None:
    model, primary = resilient(overloaded(), retries=2)
    with pytest.raises(ModelUnavailable, match=r"generator: model scripted/primary .* 503"):
        await ask(model)
    assert len(primary.requests) == 3


async def test_zero_retries_mean_one_try() -> None:
    model, primary = resilient(overloaded(), retries=0)
    with pytest.raises(ModelUnavailable):
        await ask(model)
    assert len(primary.requests) == 1


async def test_client_error_is_refused_without_another_try() -> None:
    model, primary = resilient(APIError(404, {"error": {"code": 404}}))
    with pytest.raises(ModelRefused, match="Check the model's name"):
        await ask(model)
    assert len(primary.requests) == 1


async def test_fallback_answers_and_the_response_tells_so() -> None:
    fallback = ScriptedLlm(model="scripted/second").on("generator", "from the second")
    model, _ = resilient(overloaded(), fallback=fallback, retries=1)
    responses = await ask(model, stream=True)
    assert texts(responses)[-1] == "from the second"
    for response in responses:
        reported = answered_by(response)
        assert reported.model == "scripted/second"
        assert "generator: model scripted/primary" in reported.warnings[0]
        assert "503" in reported.warnings[0]
        assert "answered by fallback scripted/second" in reported.warnings[0]


async def test_fallback_is_tried_as_often_and_the_error_tells_of_both() -> None:
    fallback = ScriptedLlm(model="scripted/second").on("generator", TimeoutError())
    model, primary = resilient(overloaded(), fallback=fallback, retries=2)
    with pytest.raises(ModelUnavailable, match=r"scripted/primary .*; then .*scripted/second"):
        await ask(model)
    assert (len(primary.requests), len(fallback.requests)) == (3, 3)


async def test_safety_block_is_not_carried_to_another_model() -> None:
    blocked = LlmResponse(error_code="SAFETY", finish_reason=types.FinishReason.SAFETY)
    fallback = ScriptedLlm()
    model, primary = resilient(blocked, fallback=fallback)
    with pytest.raises(ModelRefused, match="SAFETY"):
        await ask(model)
    assert (len(primary.requests), len(fallback.requests)) == (1, 0)


async def test_blocked_prompt_is_refused() -> None:
    model, _ = resilient(LlmResponse(error_code="PROHIBITED_CONTENT", error_message="no"))
    with pytest.raises(ModelRefused, match="PROHIBITED_CONTENT"):
        await ask(model)


@pytest.mark.parametrize("nothing", ["", "   \n", LlmResponse(content=types.Content())])
@pytest.mark.parametrize("stream", [False, True])
async def test_empty_reply_is_tried_once_more(nothing: Script, stream: bool) -> None:
    model, primary = resilient(nothing, retries=5)
    with pytest.raises(ModelOutputError, match="empty reply"):
        await ask(model, stream=stream)
    assert len(primary.requests) == 2


async def test_reply_of_thoughts_only_is_empty() -> None:
    thought = types.Content(role="model", parts=[types.Part(text="hm", thought=True)])
    model, _ = resilient(thought)
    with pytest.raises(ModelOutputError):
        await ask(model)


CUT = LlmResponse(
    content=text_content('{"final_'),
    finish_reason=types.FinishReason.MAX_TOKENS,
    usage_metadata=types.GenerateContentResponseUsageMetadata(
        prompt_token_count=10, candidates_token_count=3, thoughts_token_count=50
    ),
)
NOTHING = LlmResponse(error_code="MAX_TOKENS", finish_reason=types.FinishReason.MAX_TOKENS)


def room(limit: int | None) -> LlmRequest:
    request = asked()
    request.config.max_output_tokens = limit
    return request


@pytest.mark.parametrize("cut", [CUT, NOTHING])
@pytest.mark.parametrize("retries", [0, 3])
async def test_cut_reply_is_asked_for_once_more_with_twice_the_room(
    cut: LlmResponse, retries: int
) -> None:
    waits = Waits()
    model, primary = resilient(cut, "whole", retries=retries, waits=waits)
    assert texts(await ask(model, room(100))) == ["whole"]
    assert [item.config.max_output_tokens for item in primary.requests] == [100, 200]
    assert set(waits.seconds) <= {0.0}


async def test_reply_that_is_cut_again_passes_for_the_stage_to_judge() -> None:
    model, primary = resilient(CUT)
    responses = await ask(model, room(100))
    assert responses[0].finish_reason is types.FinishReason.MAX_TOKENS
    assert len(primary.requests) == 2


async def test_what_the_cut_reply_took_is_counted_with_the_second_one() -> None:
    model, _ = resilient(CUT, "whole")
    (response,) = await ask(model, room(100))
    failed = answered_by(response).failed
    assert failed == TokenUse(input=10, output=3, thinking=50, calls=1, failed=1)


@pytest.mark.parametrize(("limit", "asked_for"), [(None, [None]), (65_536, [65_536])])
async def test_no_more_room_is_asked_for_than_models_have(
    limit: int | None, asked_for: list[int | None]
) -> None:
    model, primary = resilient(CUT)
    await ask(model, room(limit))
    assert [item.config.max_output_tokens for item in primary.requests] == asked_for


async def test_truncated_to_nothing_says_what_to_raise() -> None:
    model, primary = resilient(NOTHING)
    with pytest.raises(ModelOutputError, match="raise max_output_tokens") as raised:
        await ask(model, room(100))
    assert raised.value.spent["failed"] == len(primary.requests) == 2


async def test_stream_that_has_begun_is_not_asked_for_again() -> None:
    model, primary = resilient(CUT)
    responses = await ask(model, room(100), stream=True)
    assert responses[-1].finish_reason is types.FinishReason.MAX_TOKENS
    assert len(primary.requests) == 1


async def test_server_without_usage_data_gets_estimates_that_are_marked() -> None:
    silent = LlmResponse(content=text_content("a reply of some words"))
    model, _ = resilient(silent)
    (response,) = await ask(model)
    use = use_of(response)
    assert use.estimated
    assert (use.input > 0, use.output) == (True, 5)


@pytest.mark.parametrize("error", [ConfigError("no key"), InputError("no images")])
async def test_errors_that_are_not_the_models_rise_as_they_are(error: Exception) -> None:
    fallback = ScriptedLlm()
    model, primary = resilient(error, fallback=fallback)
    with pytest.raises(type(error), match=str(error)):
        await ask(model)
    assert (len(primary.requests), len(fallback.requests)) == (1, 0)


async def test_unreadable_reply_is_an_output_error_with_its_cause() -> None:
    model, _ = resilient(ValueError("Failed to parse"))
    with pytest.raises(ModelOutputError, match="Failed to parse") as raised:
        await ask(model)
    assert isinstance(raised.value.__cause__, ValueError)


class BreaksMidStream(ScriptedLlm):
    """Yields one chunk, then fails."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self._requests.append(llm_request)
        yield LlmResponse(content=text_content("Once upon"), partial=True)
        raise overloaded()


async def test_stream_that_broke_after_a_chunk_is_neither_retried_nor_replaced() -> None:
    primary, fallback = BreaksMidStream(), ScriptedLlm()
    model = ResilientLlm(
        model="x", role="generator", policy=AgentSettings(), primary=primary, fallback=fallback
    )
    seen: list[LlmResponse] = []
    with pytest.raises(ModelUnavailable, match="503"):
        seen.extend([item async for item in model.generate_content_async(asked(), stream=True)])
    assert (len(primary.requests), len(fallback.requests)) == (1, 0)


class DirtiesRequests(ScriptedLlm):
    """Edits the request it is given, as real clients do, then fails once."""

    def spoil(self, llm_request: LlmRequest) -> str:
        llm_request.contents.append(types.Content(role="user", parts=[types.Part(text="junk")]))
        parts = llm_request.contents[0].parts or []
        parts[0].text = "changed"
        llm_request.config.system_instruction = "changed"
        if len(self.requests) == 1:
            raise overloaded()
        return "fine"


async def test_a_try_cannot_dirty_the_next_one_nor_the_callers_request() -> None:
    primary = DirtiesRequests()
    primary.on("generator", primary.spoil)
    model = ResilientLlm(
        model="x", role="generator", policy=AgentSettings(backoff_s=0), primary=primary
    )
    request = asked("original")
    request.config.system_instruction = "be brief"
    before = request.model_dump_json()
    await ask(model, request)
    assert [item.contents for item in primary.requests] == [asked("original").contents] * 2
    assert request.model_dump_json() == before


async def test_each_model_is_asked_by_its_own_name() -> None:
    fallback = ScriptedLlm(model="scripted/second")
    model, primary = resilient(overloaded(), fallback=fallback, retries=0)
    await ask(model)
    assert primary.requests[0].model == "scripted/primary"
    assert fallback.requests[0].model == "scripted/second"


async def test_slow_model_is_given_up_after_its_time() -> None:
    async def never(_: LlmRequest) -> str:
        await asyncio.Event().wait()
        return ""

    model, primary = resilient(never, retries=1, timeout_s=0.01)
    with pytest.raises(ModelUnavailable, match="did not answer in time"):
        await ask(model)
    assert len(primary.requests) == 2


def exhausted(delay: str, quota: str = "") -> APIError:
    """429 as Google words it, with a RetryInfo and the quota that is used up."""
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
    violation = {"quotaId": quota, "quotaValue": "250"} if quota else {}
    failure = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}
    return overloaded(429, details=[info, failure])


async def test_short_wait_that_the_server_asks_for_is_honoured() -> None:
    waits = Waits()
    model, _ = resilient(exhausted("7s"), exhausted(f"{MAX_WAIT_S:g}s"), "fine", waits=waits)
    await ask(model)
    assert waits.seconds == [7.0, MAX_WAIT_S]


async def test_long_wait_fails_at_once_with_the_quota_and_the_time() -> None:
    waits = Waits()
    model, primary = resilient(exhausted("600s", "RequestsPerMinute"), waits=waits)
    with pytest.raises(
        ModelUnavailable, match=r"no quota left, RequestsPerMinute \(limit 250\).* 600 s"
    ):
        await ask(model)
    assert (len(primary.requests), waits.seconds) == (1, [])


async def test_quota_of_a_day_is_not_waited_for_however_short_the_server_says() -> None:
    model, primary = resilient(exhausted("3s", "GenerateRequestsPerDayPerProjectPerModel"))
    with pytest.raises(ModelUnavailable, match="PerDay"):
        await ask(model)
    assert len(primary.requests) == 1


async def test_fallback_answers_at_once_when_the_quota_is_used_up() -> None:
    waits = Waits()
    fallback = ScriptedLlm(model="scripted/second").on("generator", "from the second")
    model, primary = resilient(exhausted("600s", "Quota"), fallback=fallback, waits=waits)
    for _ in range(3):
        assert texts(await ask(model)) == ["from the second"]
    assert (len(primary.requests), len(fallback.requests), waits.seconds) == (1, 3, [])


class At:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time


async def test_breaker_names_until_when_a_model_is_not_asked_and_closes_then() -> None:
    clock = At()
    breaker = Breaker(clock)
    model, primary = resilient(exhausted("600s", "Quota"), "fine")
    model.breaker_of = lambda name: breaker
    for _ in range(2):
        with pytest.raises(ModelUnavailable) as raised:
            await ask(model)
    assert "is not asked before 2026-01-01 12:01:00 UTC" in str(raised.value)
    assert "no quota left, Quota" in str(raised.value)
    assert "it asks to wait for 600 s" in str(raised.value)
    assert raised.value.spent["calls"] == 0
    clock.time += timedelta(seconds=61)
    assert texts(await ask(model)) == ["fine"]
    assert len(primary.requests) == 2


async def test_breaker_opens_after_failures_in_a_row_and_again_after_one_more() -> None:
    clock = At()
    breaker = Breaker(clock, failures=3, pause_s=30)
    model, primary = resilient(overloaded(), retries=1)
    model.breaker_of = lambda name: breaker
    for _ in range(3):
        with pytest.raises(ModelUnavailable):
            await ask(model)
    assert len(primary.requests) == 3
    clock.time += timedelta(seconds=31)
    with pytest.raises(ModelUnavailable):
        await ask(model)
    assert len(primary.requests) == 4


@needs("openai_compatible")
async def test_breaker_is_shared_by_the_roles_and_turns_of_a_process() -> None:
    settings = Settings(compressor=AgentSettings(model="openai/x"), openai_base_url="http://a/v1")
    others = settings.model_copy(update={"openai_base_url": "http://b/v1"})
    one, same, other = (
        build_model("compressor", settings),
        build_model("compressor", settings),
        build_model("compressor", others),
    )
    assert isinstance(one, ResilientLlm)
    assert isinstance(same, ResilientLlm)
    assert isinstance(other, ResilientLlm)
    assert one.breaker_of("openai/x") is same.breaker_of("openai/x")
    assert one.breaker_of("openai/x") is not other.breaker_of("openai/x")


async def test_models_of_a_turn_have_one_time_budget_and_then_fail_at_once() -> None:
    waits = Waits()
    budget = TimeBudget(10)
    budget.begin()
    model, primary = resilient(exhausted("7s"), waits=waits)
    with pytest.raises(ModelUnavailable):
        await ask(model)
    assert (len(primary.requests), waits.seconds) == (2, [7.0])
    budget.spend(10)
    with pytest.raises(ModelUnavailable, match="ACC_ACE_LIMITS__TURN_MODEL_S"):
        await ask(model)
    assert len(primary.requests) == 2
    budget.end()
    with pytest.raises(ModelUnavailable, match="429"):
        await ask(model)


async def test_fallback_has_time_when_the_first_model_has_used_up_all() -> None:
    budget = TimeBudget(0.02)
    budget.begin()
    fallback = ScriptedLlm(model="scripted/second").on("generator", "from the second")
    model, primary = resilient(_never, fallback=fallback)
    assert texts(await ask(model)) == ["from the second"]
    assert len(primary.requests) == 1


async def _never(_: LlmRequest) -> str:
    await asyncio.Event().wait()
    return ""


class Slow(ScriptedLlm):
    """A model of this machine."""

    runs_here: bool = True


async def test_slow_model_of_this_machine_is_not_asked_for_the_same_again() -> None:
    slow = Slow(model="scripted/slow").on("generator", _never)
    policy = AgentSettings(retries=3, timeout_s=0.01)
    model = ResilientLlm(model="x", role="generator", policy=policy, primary=slow)
    with pytest.raises(ModelUnavailable, match="did not answer in time"):
        await ask(model)
    assert len(slow.requests) == 1


@given(seed=st.integers(), backoff_s=st.floats(0, 60), tries=st.integers(1, 4))
async def test_waits_stay_between_zero_and_the_doubled_backoff(
    seed: int, backoff_s: float, tries: int
) -> None:
    waits = Waits()
    model, _ = resilient(overloaded(), retries=tries, backoff_s=backoff_s, waits=waits, seed=seed)
    with pytest.raises(ModelError):
        await ask(model)
    assert len(waits.seconds) == tries
    for number, waited in enumerate(waits.seconds):
        assert 0 <= waited <= min(backoff_s * 2**number, MAX_WAIT_S)


async def test_consumer_that_stops_early_closes_the_stream() -> None:
    model, primary = resilient("a text that is long enough for several chunks")
    responses = model.generate_content_async(asked(), stream=True)
    await anext(responses)
    await responses.aclose()
    assert len(primary.requests) == 1


def test_schema_with_tools_needs_every_model_to_know_it() -> None:
    class Plain(ScriptedLlm):
        @property
        def capabilities(self) -> LlmCapabilities:
            return LlmCapabilities(output_schema_and_tools=False)

    with_plain, _ = resilient("x", fallback=Plain())
    with_scripted, _ = resilient("x", fallback=ScriptedLlm())
    assert not with_plain.capabilities.output_schema_and_tools
    assert with_scripted.capabilities.output_schema_and_tools
