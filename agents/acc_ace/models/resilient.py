"""A model with retries, a circuit breaker and a fallback, which reports who answered.

There is one retry mechanism, this one: the clients below it have theirs switched off. The same
policy covers every kind of model. Once a try has yielded its first chunk, the reply belongs to
it: a later failure is raised, never papered over with a second reply.
"""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import lru_cache

from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from pydantic import Field, PrivateAttr

from acc_ace.clock import TimeBudget
from acc_ace.config import AgentSettings, Role
from acc_ace.core.schemas.report import TokenUse
from acc_ace.errors import ModelError, ModelOutputError
from acc_ace.models.attempt import ModelAttempt
from acc_ace.models.breaker import Breaker
from acc_ace.models.failures import MAX_WAIT_S, Failure, NoAnswer
from acc_ace.models.reply_bounds import FAILED_KEY, MODEL_KEY, WARNINGS_KEY

EMPTY_RETRIES = 1
"""Retries after an empty reply; more of them seldom help."""

WIDER = 2
"""A reply that was cut is asked for again, once, with so many times the room."""

MAX_OUTPUT_TOKENS = 65_536
"""Room that is never exceeded: models refuse more."""

FALLBACK_S = 10.0
"""Seconds that a fallback has at least, however much of the turn's time is left."""

_log = logging.getLogger(__name__)


def _own_breakers() -> Callable[[str], Breaker]:
    return lru_cache(maxsize=None)(lambda model: Breaker())


class ResilientLlm(BaseLlm):
    """Calls `primary` with retries, then `fallback` likewise.

    Each try has `policy.timeout_s` seconds, and all models of a turn together those of its
    TimeBudget. Waits are random between 0 and `backoff_s` doubled each time (full jitter), or what
    the server asks for, up to MAX_WAIT_S. A server that asks for more is not tried again, and its
    breaker keeps all others of the process from trying it. A reply that was cut at its limit is
    asked for once more with WIDER times the room. A safety block ends the call at once: another
    model is not asked what one refused.

    Raises ModelUnavailable, ModelRefused or ModelOutputError, as the last model failed, and
    ConfigError or InputError of a model unchanged. The request is never altered.
    """

    role: Role
    policy: AgentSettings
    primary: BaseLlm
    fallback: BaseLlm | None = None
    breaker_of: Callable[[str], Breaker] = Field(default_factory=_own_breakers, exclude=True)
    """The breaker of a model by its name."""
    endpoint_of: Callable[[str], str] = Field(default=lambda _: "", exclude=True)
    """Which server a model is at, by its name."""
    sleep: Callable[[float], Awaitable[None]] = Field(default=asyncio.sleep, exclude=True)
    rng: random.Random = Field(default_factory=random.SystemRandom, exclude=True)

    _models: tuple[BaseLlm, ...] = PrivateAttr()
    _rate_limited: Callable[[], None] | None = PrivateAttr(default=None)

    def model_post_init(self, context: object, /) -> None:
        """Take the models in the order they are called."""
        super().model_post_init(context)
        self._models = (self.primary, *([self.fallback] if self.fallback else []))

    @property
    def capabilities(self) -> LlmCapabilities:
        """Capabilities common to all models: the request is built before one of them is chosen."""
        return LlmCapabilities(
            output_schema_and_tools=all(
                model.capabilities.output_schema_and_tools for model in self._models
            )
        )

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer with the first model that can; see the class for errors."""
        call = _Call(TimeBudget.current())
        for model in self._models:
            if model is not self.primary:
                call.budget.grant(FALLBACK_S)
            tries = _Tries(self.policy, call, self.breaker_of(model.model), llm_request)
            while True:
                responses = self._attempt(model, tries).responses(
                    tries.request(model.model), stream=stream
                )
                async with aclosing(responses):
                    try:
                        first = await anext(responses)
                    except NoAnswer as error:
                        failed = error
                    else:
                        yield call.labelled(first, model)
                        async for response in responses:
                            yield call.labelled(response, model)
                        return
                if not tries.again(failed.failure):
                    break
                await self._pause(failed.failure, tries)
            call.warnings.append(str(failed.failure.error))
            if model is self._models[-1] or not failed.failure.may_fall_back:
                raise call.final(failed.failure) from failed.__cause__
            _log.warning("model_fallback role=%s model=%s", self.role, model.model)

    def on_rate_limit(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever a server reports rate limiting."""
        self._rate_limited = listener

    async def aclose(self) -> None:
        """Close the connections that the models hold on the running event loop."""
        for model in self._models:
            if close := getattr(model, "aclose", None):
                await close()

    def _attempt(self, model: BaseLlm, tries: "_Tries") -> ModelAttempt:
        return ModelAttempt(
            model=model,
            role=self.role,
            policy=self.policy,
            breaker=tries.breaker,
            budget=tries.call.budget,
            may_widen=tries.may_widen,
            on_rate_limit=self._rate_limited,
        )

    async def _pause(self, failure: Failure, tries: "_Tries") -> None:
        """Wait as long as the server asks for, or for a random time."""
        seconds = 0.0 if failure.is_cut else failure.retry_after_s
        if seconds is None:
            longest = self.policy.backoff_s * 2 ** (tries.made - 1)
            seconds = self.rng.uniform(0.0, min(longest, MAX_WAIT_S))
        _log.info("model_retry role=%s try=%d wait_s=%.2f", self.role, tries.made, seconds)
        tries.call.budget.spend(seconds)
        await self.sleep(seconds)


@dataclass
class _Call:
    """One call: what its tries took so far, and what went wrong with each model."""

    budget: TimeBudget
    failed: TokenUse = field(default_factory=TokenUse)
    warnings: list[str] = field(default_factory=list)

    def labelled(self, response: LlmResponse, model: BaseLlm) -> LlmResponse:
        """The response with who gave it; the first whole one has what the tries before took."""
        metadata = {**(response.custom_metadata or {}), MODEL_KEY: model.model}
        if self.warnings:
            answered = f"; answered by fallback {model.model}"
            metadata[WARNINGS_KEY] = [warning + answered for warning in self.warnings]
        if self.failed.calls and not response.partial:
            metadata[FAILED_KEY], self.failed = self.failed.model_dump(), TokenUse()
        version = response.model_version or model.model
        return response.model_copy(update={"custom_metadata": metadata, "model_version": version})

    def final(self, failure: Failure) -> Exception:
        """The error of the last model, with what the ones before it said and all tries took."""
        error = failure.error
        if not isinstance(error, ModelError):
            return error
        if len(self.warnings) > 1:
            error = type(error)("; then ".join(self.warnings))
        error.spent = self.failed.model_dump()
        return error


class _Tries:
    """The tries at one model: how many, and how much room the reply has."""

    def __init__(
        self, policy: AgentSettings, call: _Call, breaker: Breaker, llm_request: LlmRequest
    ) -> None:
        self.call, self.breaker, self._request = call, breaker, llm_request
        self.room = room = llm_request.config.max_output_tokens
        self.may_widen = room is not None and room < MAX_OUTPUT_TOKENS
        self.made, self._left, self._empties = 0, policy.retries, EMPTY_RETRIES

    def request(self, model: str) -> LlmRequest:
        """The request of the next try, which the model may edit as it likes."""
        request = copied_request(self._request, model)
        request.config.max_output_tokens = self.room
        return request

    def again(self, failure: Failure) -> bool:
        """Count a try that failed; whether another one may help."""
        self.made += 1
        self.call.failed += failure.use
        if failure.is_cut:
            return self._widened()
        has_time = (failure.retry_after_s or 0.0) <= self.call.budget.left_s
        if not failure.retriable or not has_time or self.breaker.objection():
            return False
        self._empties -= isinstance(failure.error, ModelOutputError)
        self._left -= 1
        return self._left >= 0 and self._empties >= 0

    def _widened(self) -> bool:
        if not self.may_widen or self.room is None:
            return False
        self.room, self.may_widen = min(WIDER * self.room, MAX_OUTPUT_TOKENS), False
        return True


def copied_request(llm_request: LlmRequest, model: str) -> LlmRequest:
    """A copy that a model may edit as it likes: deep where models write, shared elsewhere.

    Tools are shared, since they may hold connections and locks; so are HTTP clients in
    `config.http_options`.
    """
    options = llm_request.config.http_options
    config = llm_request.config.model_copy(update={"http_options": None}).model_copy(deep=True)
    config.http_options = options.model_copy() if options else None
    return llm_request.model_copy(
        update={
            "model": model,
            "contents": [content.model_copy(deep=True) for content in llm_request.contents],
            "config": config,
        }
    )
