"""Waiting for a model that answers one request after the other; for a bounded time."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from typing import Final, Protocol, runtime_checkable

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse

from acc_ace.config import Role
from acc_ace.errors import ModelUnavailable
from acc_ace.models.failures import Failure, NoAnswer

QUEUE_LIMITS: Final = 10
"""How many times its time limit a request may wait for a model that is busy with others."""


@runtime_checkable
class Queueing(Protocol):
    """A model that answers one request after the other."""

    def open_responses(
        self, llm_request: LlmRequest, *, stream: bool
    ) -> AbstractAsyncContextManager[AsyncGenerator[LlmResponse, None]]:
        """The responses to a request, entered when the model has started with it."""
        ...


@asynccontextmanager
async def open_responses(
    model: BaseLlm, llm_request: LlmRequest, *, stream: bool, role: Role, timeout_s: float
) -> AsyncIterator[AsyncGenerator[LlmResponse, None]]:
    """The responses to a request, entered when the model has started with it: most do so at once.

    Raises NoAnswer when the model is busy with others for QUEUE_LIMITS times `timeout_s`.
    """
    if not isinstance(model, Queueing):
        async with aclosing(model.generate_content_async(llm_request, stream)) as responses:
            yield responses
        return
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.timeout(QUEUE_LIMITS * timeout_s) as limit:
                responses = await stack.enter_async_context(
                    model.open_responses(llm_request, stream=stream)
                )
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise NoAnswer(_busy(model, role, timeout_s)) from error
        yield responses


def _busy(model: BaseLlm, role: Role, timeout_s: float) -> Failure:
    """No other try may help: it would wait behind those that came meanwhile."""
    return Failure(
        ModelUnavailable(
            f"{role}: model {model.model} was busy with other requests for "
            f"{QUEUE_LIMITS * timeout_s:g} s, {QUEUE_LIMITS} times "
            f"ACC_ACE_{role.upper()}__TIMEOUT_S"
        )
    )
