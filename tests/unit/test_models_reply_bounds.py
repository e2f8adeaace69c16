"""A model that ignores its bounds, or sends what cannot be written down, is held to them."""

from collections.abc import AsyncGenerator

import pytest
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace.config import AgentSettings
from acc_ace.errors import ModelOutputError
from acc_ace.models.reply_bounds import max_reply_chars, writable
from acc_ace.models.resilient import ResilientLlm
from tests.fakes.scripted_llm import Script, ScriptedLlm, call, text_content

POLICY = AgentSettings(max_output_tokens=64, retries=0)
HUGE = "x" * (max_reply_chars(64) + 1)


def resilient(script: Script, fallback: ScriptedLlm | None = None) -> ResilientLlm:
    primary = ScriptedLlm(model="scripted/primary", chunk_chars=500).on("generator", script)
    return ResilientLlm(
        model=primary.model, role="generator", policy=POLICY, primary=primary, fallback=fallback
    )


async def ask(model: ResilientLlm, *, stream: bool) -> list[LlmResponse]:
    request = LlmRequest(contents=[types.Content(role="user", parts=[types.Part(text="hi")])])
    return [response async for response in model.generate_content_async(request, stream=stream)]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("script", [HUGE, call("calculate", expression=HUGE)])
async def test_a_reply_far_over_its_bound_is_refused_by_name(script: Script, stream: bool) -> None:
    with pytest.raises(ModelOutputError, match="ACC_ACE_GENERATOR__MAX_OUTPUT_TOKENS=64"):
        await ask(resilient(script), stream=stream)


class Endless(BaseLlm):
    """Streams without end."""

    model: str = "scripted/endless"
    sent: int = 0

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Chunks of a thousand characters."""
        while True:
            self.sent += 1_000
            yield LlmResponse(content=text_content("z" * 1_000), partial=True)


async def test_an_endless_stream_is_left_at_its_bound() -> None:
    endless = Endless()
    model = ResilientLlm(model=endless.model, role="generator", policy=POLICY, primary=endless)
    with pytest.raises(ModelOutputError, match="MAX_OUTPUT_TOKENS"):
        await ask(model, stream=True)
    assert endless.sent <= max_reply_chars(64) + 1_000


async def test_another_model_answers_when_the_first_writes_without_end() -> None:
    fallback = ScriptedLlm(model="scripted/second").on("generator", "short")
    (response,) = await ask(resilient(HUGE, fallback), stream=False)
    assert response.content == text_content("short")


def test_half_characters_are_replaced_and_other_responses_left_alone() -> None:
    fine = LlmResponse(content=text_content("fine"))
    assert writable(fine) is fine
    text = writable(LlmResponse(content=text_content("a\ud800b"))).content
    assert text == text_content("a\ufffdb")
    args = writable(LlmResponse(content=call("look", keys={"a\udfff": ["\ud800"]}))).content
    assert args == call("look", keys={"a\ufffd": ["\ufffd"]})
