"""One try of a request at one model: waiting for it, for a bounded time, and checking what comes.

Of a model that streams every reply (it has `first_token_s`) the time limit counts from the first
token on; before it, while it reads the prompt or is busy with others, another one holds.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse

from acc_ace.clock import TimeBudget
from acc_ace.config import AgentSettings, Role, block_name
from acc_ace.core.schemas.report import TokenUse
from acc_ace.errors import ModelError, ModelOutputError, ModelUnavailable
from acc_ace.models.breaker import Breaker
from acc_ace.models.failures import (
    Failure,
    NoAnswer,
    failure_of,
    has_answer,
    is_rate_limit,
    problem_of,
)
from acc_ace.models.reply_bounds import max_reply_chars, reply_chars, with_usage, writable

_NOTHING_SENT: Final = TokenUse()


@dataclass
class ModelAttempt:
    """One try. `may_widen` says that a reply cut at its limit is a failure: more room may help."""

    model: BaseLlm
    role: Role
    policy: AgentSettings
    breaker: Breaker
    budget: TimeBudget
    may_widen: bool
    on_rate_limit: Callable[[], None] | None = None

    async def responses(
        self, request: LlmRequest, *, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        """The responses, each within the time left; failures become NoAnswer.

        Chunks wait until one contains a piece of the answer, so that a stream of nothing
        can still be tried again. After that, failures are raised as what they are.
        """
        self._require_allowed()
        buffer: list[LlmResponse] = []
        started = False
        streamed = 0
        try:
            streams = stream or self._first_token_s is not None
            answering = self.model.generate_content_async(request, streams)
            async with (
                aclosing(answering) as responses,
                aclosing(self._in_time(responses)) as timed,
            ):
                async for response in timed:
                    self._require_answer(response, request, started=started)
                    size = reply_chars(response)
                    streamed += size if response.partial else 0
                    self._require_bounded(request, max(size, streamed))
                    if response.partial and not (stream and response.content):
                        continue
                    buffer.append(writable(_counted(response, request)))
                    started = started or has_answer(response)
                    if started:
                        self.breaker.leave(self)  # Its consumer may take any time.
                    while started and buffer:
                        yield buffer.pop(0)
                if not started:
                    empty = ModelOutputError(f"{self._who} gave an empty reply")
                    raise NoAnswer(Failure(empty, retriable=True))
            self.breaker.succeed()
        except NoAnswer as error:
            self.breaker.succeed()  # A bad reply is a reply.
            if started:
                raise _raised(error.failure) from error.__cause__
            raise
        except Exception as error:
            failure = self._noted(error)
            if started:
                raise _raised(failure) from error
            raise NoAnswer(failure) from error
        finally:
            self.breaker.leave(self)

    def _require_allowed(self) -> None:
        is_late = self.budget.left_s <= 0
        objection = self._time_is_up if is_late else self.breaker.admit(self)
        if objection is not None:
            error = ModelUnavailable(f"{self._who} {objection}")
            raise NoAnswer(Failure(error, use=_NOTHING_SENT))

    def _noted(self, error: Exception) -> Failure:
        """What a failed try means; for the breaker a refusal is a reply."""
        if self.on_rate_limit is not None and is_rate_limit(error):
            self.on_rate_limit()
        if isinstance(error, TimeoutError) and self.budget.left_s <= 0:
            # The turn has no time, which says nothing about the model.
            return Failure(ModelUnavailable(f"{self._who} {self._time_is_up}"))
        failure = failure_of(
            error, model=self.model.model, role=self.role, is_local=_runs_here(self.model)
        )
        if isinstance(failure.error, ModelUnavailable):
            self.breaker.fail(failure)
        elif isinstance(failure.error, ModelError):
            self.breaker.succeed()
        return failure

    async def _in_time(
        self, responses: AsyncGenerator[LlmResponse, None]
    ) -> AsyncGenerator[LlmResponse, None]:
        """Each response; TimeoutError, which names the setting, when one came too late.

        Time that the consumer of a stream takes is not counted.
        """
        reads = self._first_token_s is not None
        # Free for the turn is a prompt that a model of this machine reads: it costs only time.
        turn = None if reads and _runs_here(self.model) else self.budget
        own = TimeBudget(self._first_token_s or self.policy.timeout_s, within=turn)
        while True:
            try:
                async with _spending(own):
                    response = await anext(responses)
            except StopAsyncIteration:
                return
            except TimeoutError as error:
                raise TimeoutError(self._too_late(own, reads=reads)) from error
            if reads:
                reads, own = False, TimeBudget(self.policy.timeout_s, within=self.budget)
            yield response

    @property
    def _first_token_s(self) -> float | None:
        """Seconds until the first token of a model that streams every reply; None for others."""
        return getattr(self.model, "first_token_s", None)

    def _too_late(self, own: TimeBudget, *, reads: bool) -> str:
        happened = "gave no first token" if reads else "did not answer"
        option = "FIRST_TOKEN_TIMEOUT_S" if reads else "TIMEOUT_S"
        return f"{happened} in time: {self._setting(option)} is {own.seconds:g}"

    def _setting(self, option: str) -> str:
        return f"ACC_ACE_{block_name(self.role).upper()}__{option}"

    def _require_answer(self, response: LlmResponse, request: LlmRequest, *, started: bool) -> None:
        if response.partial:
            return
        problem = problem_of(response, model=self.model.model, role=self.role)
        if problem is None:
            return
        # What was streamed, or has had its second try, is for the stage to judge.
        is_last = started or not self.may_widen or not request.config.max_output_tokens
        if not (problem.is_cut and is_last and has_answer(response)):
            raise NoAnswer(problem)

    def _require_bounded(self, request: LlmRequest, chars: int) -> None:
        limit = request.config.max_output_tokens or self.policy.max_output_tokens
        if chars > max_reply_chars(limit):
            setting = self._setting("MAX_OUTPUT_TOKENS")
            text = (
                f"{self._who} wrote over {chars:,} characters, more than {setting}={limit} allows"
            )
            raise NoAnswer(Failure(ModelOutputError(text)))

    @property
    def _who(self) -> str:
        return f"{self.role}: model {self.model.model}"

    @property
    def _time_is_up(self) -> str:
        return f"has no time left: models may take {self.budget.bound}"


@asynccontextmanager
async def _spending(budget: TimeBudget) -> AsyncIterator[None]:
    """Wait no longer than a budget has time left; the time is spent."""
    loop = asyncio.get_running_loop()
    since = loop.time()
    try:
        async with asyncio.timeout(budget.left_s):
            yield
    finally:
        budget.spend(loop.time() - since)


def _runs_here(model: BaseLlm) -> bool:
    """Whether a model runs on this machine: one that was too slow will be so again."""
    return bool(getattr(model, "runs_here", False))


def _counted(response: LlmResponse, request: LlmRequest) -> LlmResponse:
    return response if response.partial else with_usage(response, request)


def _raised(failure: Failure) -> Exception:
    """The error of a reply that broke off, with what it took."""
    if isinstance(failure.error, ModelError):
        failure.error.spent = failure.use.model_dump()
    return failure.error
