"""Gemini through google-genai, with a time limit and no retry of its own."""

import re
from collections.abc import AsyncGenerator
from typing import Final, NamedTuple

from google import genai
from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from google.genai.types import ThinkingConfig

from acc_ace.config import google_credentials
from acc_ace.errors import ConfigError, ModelOutputError
from acc_ace.model_settings import Safety
from acc_ace.models.endpoint import ModelHttpClient

MIN_HTTP_TIMEOUT_S = 10.0
"""google-genai passes its timeout on to the API, which rejects deadlines under ten seconds."""


def reach_gemini(name: str, *, timeout_s: float) -> None:
    """Ask for a model by its name; raises what google-genai raises, and waits at most so long."""
    client = genai.Client(http_options=types.HttpOptions(timeout=int(timeout_s * 1_000)))
    client.models.get(model=name)


_HARMS = (
    types.HarmCategory.HARM_CATEGORY_HARASSMENT,
    types.HarmCategory.HARM_CATEGORY_HATE_SPEECH,
    types.HarmCategory.HARM_CATEGORY_SEXUALLY_EXPLICIT,
    types.HarmCategory.HARM_CATEGORY_DANGEROUS_CONTENT,
)
"""The harms whose filters can be adjusted."""


class ThinkingOf(NamedTuple):
    """What a family of models can be asked for."""

    levels: tuple[str, ...] = ()
    budget: tuple[int, int] | None = None
    """The fewest and most tokens."""
    can_be_off: bool = False
    least: types.ThinkingConfig | None = None


_LOW = ThinkingConfig(thinking_level=types.ThinkingLevel.LOW)
_MINIMAL = ThinkingConfig(thinking_level=types.ThinkingLevel.MINIMAL)
_LEVELS = ("minimal", "low", "medium", "high")
_THINKING: Final = (
    # The first that fits. A budget is what Gemini 2.5 takes, a level what came later.
    (r"gemini-2\.5-pro", ThinkingOf((), (128, 32_768), False, ThinkingConfig(thinking_budget=128))),
    (r"gemini-2\.5-", ThinkingOf((), (0, 24_576), True, ThinkingConfig(thinking_budget=0))),
    (r"gemini-[12]\.|gemma-", ThinkingOf()),
    (r"gemini-3(\.[0-5])?-flash", ThinkingOf(_LEVELS, least=_MINIMAL)),
    (r"gemini-3-pro", ThinkingOf(("low", "high"), least=_LOW)),
    (r"gemini-[3-9]", ThinkingOf(_LEVELS, least=_LOW)),
)


def thinking_config(model: str, thinking: str) -> types.ThinkingConfig | None:
    """How a model is asked to think; None leaves it to the model, as for names that tell nothing.

    Raises ConfigError, with what it can do, for what the model cannot.
    """
    name = model.rpartition("/")[2]
    can = next((can for pattern, can in _THINKING if re.match(pattern, name)), None)
    if not thinking or (can is None and thinking == "least"):
        return None
    if can is None:
        return _asked_to_think(thinking)
    if thinking == "least":
        return can.least
    low, high = can.budget or (1, 0)
    is_known = (
        low <= int(thinking) <= high
        if thinking.isdecimal()
        else can.can_be_off
        if thinking == "off"
        else thinking in can.levels
    )
    if not is_known:
        raise ConfigError(f"model {model!r} cannot think {thinking!r}; {_choices(can)}")
    return _asked_to_think(thinking)


def _asked_to_think(thinking: str) -> types.ThinkingConfig:
    if thinking.isdecimal() or thinking == "off":
        budget = int(thinking) if thinking.isdecimal() else 0
        return types.ThinkingConfig(thinking_budget=budget)
    return types.ThinkingConfig(thinking_level=types.ThinkingLevel(thinking.upper()))


def _choices(can: ThinkingOf) -> str:
    if not can.levels and can.budget is None:
        return "it does not think: unset it"
    budget = [f"{can.budget[0]} to {can.budget[1]} tokens"] if can.budget else []
    return "use " + ", ".join(["least", *(["off"] if can.can_be_off else []), *can.levels, *budget])


def safety_settings(safety: Safety) -> list[types.SafetySetting] | None:
    """One threshold for all harms that can be adjusted; None leaves them as they are."""
    if not safety:
        return None
    threshold = types.HarmBlockThreshold("OFF" if safety == "off" else f"BLOCK_{safety.upper()}")
    return [types.SafetySetting(category=harm, threshold=threshold) for harm in _HARMS]


class GeminiLlm(Gemini):
    """ADK's Gemini; the client is built at the first call, from Google's own variables.

    `GOOGLE_GEMINI_BASE_URL` points it at another endpoint. `thinking` and `safety` are for
    requests that say nothing of them. Raises ConfigError when there are no Google credentials.
    """

    thinking: types.ThinkingConfig | None = None
    safety: list[types.SafetySetting] | None = None

    http: ModelHttpClient | None = None
    """What its calls go through; None for a client of google-genai's own."""

    @property
    def capabilities(self) -> LlmCapabilities:
        """Gemini 3 takes an output schema together with tools on both APIs; else ADK's word."""
        name = self.model.rpartition("/")[2]
        return LlmCapabilities(
            **super().capabilities.model_dump()
            | ({"output_schema_and_tools": True} if name.startswith("gemini-3") else {})
        )

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Call the API; what it raises is google-genai's."""
        if self.client is None and google_credentials() is None:
            raise ConfigError(
                f"model {self.model} needs Google credentials: set GOOGLE_API_KEY, or "
                "GOOGLE_GENAI_USE_VERTEXAI=true with GOOGLE_CLOUD_PROJECT; or choose another "
                "model, such as embedded/rules"
            )
        config = llm_request.config
        config.thinking_config = config.thinking_config or self.thinking
        config.safety_settings = config.safety_settings or self.safety
        async for response in super().generate_content_async(llm_request, stream):
            yield response

    async def count_tokens(self, text: str) -> int:
        """Tokens of a text, as the API counts; what it raises is google-genai's."""
        reply = await self.api_client.aio.models.count_tokens(model=self.model, contents=text)
        if reply.total_tokens is None:
            raise ModelOutputError(f"model {self.model} returned no token count")
        return reply.total_tokens

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        if self.http is not None:
            await self.http.aclose()


def gemini(
    model: str,
    *,
    timeout_s: float,
    thinking: types.ThinkingConfig | None = None,
    safety: Safety = "",
) -> GeminiLlm:
    """A Gemini model whose HTTP calls end after `timeout_s` seconds, or ten if that is less."""
    http = ModelHttpClient(f"model {model}")
    return GeminiLlm(
        model=model,
        client_kwargs={"http_options": http_options(http, timeout_s)},
        http=http,
        thinking=thinking,
        safety=safety_settings(safety),
    )


def http_options(http: ModelHttpClient, timeout_s: float) -> types.HttpOptions:
    """Calls through a client of ours, which end after `timeout_s` seconds, or ten."""
    milliseconds = round(max(timeout_s, MIN_HTTP_TIMEOUT_S) * 1_000)
    return types.HttpOptions(timeout=milliseconds, httpx_async_client=http)
