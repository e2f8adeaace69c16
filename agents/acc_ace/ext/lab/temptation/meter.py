"""Tally what a model is asked and what it costs, and whether a request showed the rule."""

import re
import time
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import ConfigDict, PrivateAttr

from acc_ace.config import load_settings
from acc_ace.core.schemas.base import Value
from acc_ace.core.schemas.report import TokenUse
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.ext.lab.temptation.scenario import LabCall, bare
from acc_ace.models.prices import load_prices

_SCRIPT: Final = "scripted/reply"
"""The model of a script's reply, which is free in the place of a real one too."""


class Cost(Value):
    """What the models of an episode were asked, and what it took."""

    calls: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    estimated: bool = False
    """Whether tokens of some call were estimated: its model reported none."""
    largest: int = 0
    """Tokens of the agent's largest request."""
    nano_usd: int | None = 0
    """Billionths of a dollar by list price; None where a model has no price."""
    seconds: float = 0.0
    """Of all calls of models."""
    first_s: float = 0.0
    """From a message to the agent's first token, memory included: the mean of the turns."""


@dataclass
class TrialMeter:
    """Counts over all models of an episode, and what the agent was shown in the present turn."""

    used: dict[str, list[TokenUse]] = field(default_factory=dict)
    seconds: float = 0.0
    waits: list[float] = field(default_factory=list)
    estimated: bool = False
    largest: int = 0
    requests: list[str] = field(default_factory=list)
    called: list[LabCall] = field(default_factory=list)
    """Texts of the agent's requests, and its calls, since the turn began."""
    _began: float | None = None

    def begin_turn(self) -> None:
        """A message is about to be said."""
        self.requests, self.called, self._began = [], [], time.perf_counter()

    def note_reply(self) -> None:
        """The agent's model replies; the first time in a turn says how long the user waited."""
        if self._began is not None:
            self.waits.append(time.perf_counter() - self._began)
            self._began = None

    @property
    def tokens_in(self) -> int:
        """Of all calls so far."""
        return sum(use.input for uses in self.used.values() for use in uses)

    def cost(self) -> Cost:
        """The sums."""
        table, nano = load_prices(load_settings().prices), list[int | None]()
        for name, uses in self.used.items():
            price = table.price(name)
            free = name.startswith(("embedded/", "scripted/"))
            nano += [0 if free else price.nano(use) if price else None for use in uses]
        every = [use for uses in self.used.values() for use in uses]
        prices = [each for each in nano if each is not None]
        return Cost(
            calls=len(every),
            tokens_in=self.tokens_in,
            tokens_cached=sum(use.cached for use in every),
            tokens_out=sum(use.output + use.thinking for use in every),
            estimated=self.estimated,
            nano_usd=sum(prices) if len(prices) == len(nano) else None,
            largest=self.largest,
            seconds=round(self.seconds, 3),
            first_s=round(sum(self.waits) / len(self.waits), 3) if self.waits else 0.0,
        )


class MeteredLlm(BaseLlm):
    """A model as it is, counted. `is_agent` marks the one whose requests are looked at."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    is_agent: bool = False
    _of: BaseLlm = PrivateAttr()
    _meter: TrialMeter = PrivateAttr()

    def __init__(self, of: BaseLlm, meter: TrialMeter, *, is_agent: bool = False) -> None:
        super().__init__(model=of.model, is_agent=is_agent)
        self._of, self._meter = of, meter

    @property
    def capabilities(self) -> LlmCapabilities:
        """Those of the model."""
        return self._of.capabilities

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Raises what the model raises."""
        text, began, last = request_text(llm_request), time.perf_counter(), None
        elapsed = 0.0
        if self.is_agent:
            self._meter.requests.append(text)
        try:
            async for response in self._of.generate_content_async(llm_request, stream=stream):
                elapsed, last = time.perf_counter() - began, response
                if self.is_agent:
                    self._meter.note_reply()
                    self._meter.called += [] if response.partial else _calls(response)
                yield response
        finally:  # Who asks may stop listening at the first response.
            use = self._use(text, last)
            self._meter.seconds += elapsed
            if self.is_agent:
                self._meter.largest = max(self._meter.largest, use.input)
            is_script = last is not None and last.model_version == _SCRIPT
            self._meter.used.setdefault(_SCRIPT if is_script else self.model, []).append(use)

    def _use(self, text: str, last: LlmResponse | None) -> TokenUse:
        usage = last.usage_metadata if last else None
        if usage is None or usage.prompt_token_count is None:
            self._meter.estimated = True
            replied = request_text_of([last.content]) if last and last.content else ""
            return TokenUse(input=estimate_tokens(text), output=estimate_tokens(replied))
        return TokenUse(
            input=usage.prompt_token_count,
            output=usage.candidates_token_count or 0,
            thinking=usage.thoughts_token_count or 0,
            cached=min(usage.cached_content_token_count or 0, usage.prompt_token_count),
        )


def _calls(response: LlmResponse) -> list[LabCall]:
    parts = (response.content.parts if response.content else None) or []
    called = [part.function_call for part in parts if part.function_call]
    return [
        LabCall(tool=call.name or "", args={n: str(v) for n, v in (call.args or {}).items()})
        for call in called
    ]


def request_text(llm_request: LlmRequest) -> str:
    """All words of a request: instruction, contents, calls and results."""
    instruction: Any = llm_request.config.system_instruction
    if isinstance(instruction, types.Content):
        instruction = request_text_of([instruction])
    return f"{instruction or ''}\n{request_text_of(llm_request.contents)}"


def request_text_of(contents: Iterable[types.Content]) -> str:
    """The words of contents."""
    words = []
    for part in (part for content in contents for part in content.parts or []):
        if part.function_call:
            words.append(f"{part.function_call.name} {part.function_call.args}")
        elif part.function_response:
            words.append(" ".join(map(str, (part.function_response.response or {}).values())))
        elif part.text:
            words.append(part.text)
    return "\n".join(words)


def scripted(part: types.Part, llm_request: LlmRequest) -> LlmResponse:
    """A script's reply, with tokens by estimate."""
    content = types.Content(role="model", parts=[part])
    tokens = [
        estimate_tokens(request_text(llm_request)),
        estimate_tokens(request_text_of([content])),
    ]
    usage = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=tokens[0],
        candidates_token_count=tokens[1],
        total_token_count=sum(tokens),
    )
    return LlmResponse(content=content, usage_metadata=usage, model_version=_SCRIPT)


def shows(text: str, words: str, *, but: str = "") -> bool:
    """Whether the sentences of `words` stand in a text, other than in lines of `but`."""
    whole = bare(text)
    for line in filter(None, map(bare, but.splitlines())):
        whole = whole.replace(line, "\0")
    return all(bare(part) in whole for part in re.split(r"(?<=[.!?。！？])", words))
