"""A model with retries and a fallback, which reports who answered.

There is one retry mechanism, this one: the clients below it have theirs switched off. The same
policy covers every kind of model. Once a try has yielded its first chunk, the reply belongs to
it: a later failure is raised, never papered over with a second reply.
"""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import NamedTuple, Protocol, runtime_checkable

from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import Field, PrivateAttr
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from acc_ace.config import AgentSettings, Role
from acc_ace.errors import ModelError, ModelOutputError
from acc_ace.models.failures import (
    Failure,
    NoAnswer,
    failure_of,
    has_answer,
    is_rate_limit,
    problem_of,
)
from acc_ace.models.queueing import open_responses
from acc_ace.models.reply_bounds import max_reply_chars, reply_chars, writable

MAX_WAIT_S = 30.0
"""Longest wait between two tries, also when the server asks for more."""

EMPTY_RETRIES = 1
"""Retries after an empty reply; more of them seldom help."""

MODEL_KEY = "acc_ace_model"
WARNINGS_KEY = "acc_ace_warnings"

_log = logging.getLogger(__name__)


class Answered(NamedTuple):
    """Which model gave a response, and what the user should know about it."""

    model: str
    warnings: tuple[str, ...]


def answered_by(response: LlmResponse) -> Answered:
    """Read what ResilientLlm wrote on a response; ('', ()) for one of another model."""
    metadata = response.custom_metadata or {}
    return Answered(str(metadata.get(MODEL_KEY, "")), tuple(metadata.get(WARNINGS_KEY, ())))


class ResilientLlm(BaseLlm):
    """Calls `primary` with retries, then `fallback` likewise.

    Each try has `policy.timeout_s` seconds in total, time that the consumer of a stream takes not
    counted. The clock starts with the model: one that answers one request after the other is
    waited for besides, up to QUEUE_LIMITS times as long, and not tried again when it is busy for
    longer. Waits are random between 0 and `backoff_s` doubled each time (full jitter), or what the
    server asks for; both at most MAX_WAIT_S. A safety block ends the call at once: another model is
    not asked what one refused.

    Raises ModelUnavailable, ModelRefused or ModelOutputError, as the last model failed, and
    ConfigError or InputError of a model unchanged. The request is never altered.
    """

    role: Role
    policy: AgentSettings
    primary: BaseLlm
    fallback: BaseLlm | None = None
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
        warnings: list[str] = []
        for model in self._models:
            try:
                opened = await self._open(model, llm_request, stream)
            except NoAnswer as error:
                failure = error.failure
                warnings.append(str(failure.error))
                if model is self._models[-1] or not failure.may_fall_back:
                    raise _final(failure, warnings) from error.__cause__
                _log.warning("model_fallback role=%s model=%s", self.role, model.model)
                continue
            reported = [f"{text}; answered by fallback {model.model}" for text in warnings]
            async with aclosing(opened.rest):
                yield _labelled(opened.first, model, reported)
                async for response in opened.rest:
                    yield _labelled(response, model, reported)
            return

    def on_rate_limit(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever a server reports rate limiting."""
        self._rate_limited = listener

    async def aclose(self) -> None:
        """Close the connections that the models hold on the running event loop."""
        for model in self._models:
            if isinstance(model, _Closable):
                await model.aclose()

    async def _open(self, model: BaseLlm, llm_request: LlmRequest, stream: bool) -> "_Opened":
        """The first response of a reply, tried as often as the policy allows; or NoAnswer."""
        empties = 0

        def again(error: BaseException) -> bool:
            nonlocal empties
            if not isinstance(error, NoAnswer) or not error.failure.retriable:
                return False
            empties += isinstance(error.failure.error, ModelOutputError)
            return empties <= EMPTY_RETRIES

        retrying = AsyncRetrying(
            sleep=self.sleep,
            wait=self._wait,
            stop=lambda state: state.attempt_number > self.policy.retries,
            retry=retry_if_exception(again),
            before_sleep=self._log_retry,
            reraise=True,
        )
        return await retrying(self._try, model, llm_request, stream)

    async def _try(self, model: BaseLlm, llm_request: LlmRequest, stream: bool) -> "_Opened":
        request = copied_request(llm_request, model.model)
        responses = self._checked(model, request, stream)
        try:
            first = await anext(responses)
        except BaseException:
            await responses.aclose()
            raise
        return _Opened(first, responses)

    async def _checked(
        self, model: BaseLlm, request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        """The responses of one try, each within the time left; failures become NoAnswer.

        Chunks are held back until one holds a piece of the answer, so that a stream of nothing
        can still be tried again. After that, failures are raised as what they are.
        """
        held: list[LlmResponse] = []
        started = False
        streamed = 0
        try:
            async with (
                open_responses(
                    model,
                    request,
                    stream=stream,
                    role=self.role,
                    timeout_s=self.policy.timeout_s,
                ) as responses,
                aclosing(self._in_time(responses)) as timed,
            ):
                async for response in timed:
                    self._require_answer(model, response)
                    size = reply_chars(response)
                    streamed += size if response.partial else 0
                    self._require_bounded(model, max(size, streamed))
                    held.append(writable(response))
                    started = started or has_answer(response)
                    while started and held:
                        yield held.pop(0)
                if not started:
                    raise NoAnswer(_nothing(self.role, model.model))
        except NoAnswer as error:
            if started:
                raise error.failure.error from error.__cause__
            raise
        except Exception as error:
            if self._rate_limited is not None and is_rate_limit(error):
                self._rate_limited()
            failure = failure_of(error, model=model.model, role=self.role)
            if started:
                raise failure.error from error
            raise NoAnswer(failure) from error

    async def _in_time(
        self, responses: AsyncGenerator[LlmResponse, None]
    ) -> AsyncGenerator[LlmResponse, None]:
        """Each response; TimeoutError when the model has taken all its time."""
        loop = asyncio.get_running_loop()
        left = self.policy.timeout_s
        while True:
            since = loop.time()
            try:
                async with asyncio.timeout(left):
                    response = await anext(responses)
            except StopAsyncIteration:
                return
            left -= loop.time() - since
            yield response

    def _require_answer(self, model: BaseLlm, response: LlmResponse) -> None:
        if response.partial:
            return
        problem = problem_of(response, model=model.model, role=self.role)
        if problem is not None:
            raise NoAnswer(problem)

    def _require_bounded(self, model: BaseLlm, chars: int) -> None:
        if chars > max_reply_chars(self.policy.max_output_tokens):
            raise NoAnswer(
                Failure(
                    ModelOutputError(
                        f"{self.role}: model {model.model} wrote over {chars:,} characters, more "
                        f"than ACC_ACE_{self.role.upper()}__MAX_OUTPUT_TOKENS="
                        f"{self.policy.max_output_tokens} allows"
                    ),
                    retriable=False,
                )
            )

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.failure.retry_after_s if isinstance(error, NoAnswer) else None
        if asked is not None:
            return min(asked, MAX_WAIT_S)
        longest = self.policy.backoff_s * 2 ** (state.attempt_number - 1)
        return self.rng.uniform(0.0, min(longest, MAX_WAIT_S))

    def _log_retry(self, state: RetryCallState) -> None:
        _log.info(
            "model_retry role=%s try=%d wait_s=%.2f",
            self.role,
            state.attempt_number,
            state.upcoming_sleep,
        )


@runtime_checkable
class _Closable(Protocol):
    """A model that keeps connections open between calls."""

    async def aclose(self) -> None: ...


class _Opened(NamedTuple):
    """A reply whose first response has come."""

    first: LlmResponse
    rest: AsyncGenerator[LlmResponse, None]


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
            "contents": [_copied(content) for content in llm_request.contents],
            "config": config,
        }
    )


def _copied(content: types.Content) -> types.Content:
    return content.model_copy(deep=True)


def _labelled(response: LlmResponse, model: BaseLlm, warnings: list[str]) -> LlmResponse:
    metadata = {**(response.custom_metadata or {}), MODEL_KEY: model.model}
    if warnings:
        metadata[WARNINGS_KEY] = warnings
    version = response.model_version or model.model
    return response.model_copy(update={"custom_metadata": metadata, "model_version": version})


def _nothing(role: str, model: str) -> Failure:
    return Failure(ModelOutputError(f"{role}: model {model} gave an empty reply"), retriable=True)


def _final(failure: Failure, reported: list[str]) -> Exception:
    """The error of the last model, with what the ones before it said."""
    if len(reported) == 1 or not isinstance(failure.error, ModelError):
        return failure.error
    return type(failure.error)("; then ".join(reported))
