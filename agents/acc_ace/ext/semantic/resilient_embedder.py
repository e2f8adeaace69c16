"""An embedder with retries, a time limit, and a circuit breaker."""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from acc_ace.config import EmbedderSettings
from acc_ace.core.text.duplicates import Vector
from acc_ace.errors import AccAceError, EmbedderError, ModelError, TextRefusedError
from acc_ace.memory.artifact_store import Embedder
from acc_ace.models.failures import MAX_WAIT_S, Failure, failure_of, status_of

T = TypeVar("T")

REST_S = 30.0
"""Seconds for which the circuit stays open for queries after a failure."""

MOST_TEXTS = 32
"""Texts of one call."""

GROWS_AFTER = 8
"""Full batches before the batch size grows by one: too large a batch may time out."""

REFUSED_TEXT = frozenset({400, 413, 422})
"""HTTP statuses that refuse a text, such as one too long; bad keys and names have others."""

_log = logging.getLogger(__name__)


class ResilientEmbedder:
    """Calls another embedder with retries, waits and a time limit, as models are called.

    A question has `policy.timeout_s` seconds for all its tries: a turn waits for it. A call with
    texts has that time for each try. After a try that failed a call holds half as many texts,
    after GROWS_AFTER full ones that did not one more: an endpoint too slow for many gets few, and
    embeds all. A single text says nothing about the batch size that works.

    After a question failed, questions fail at once for REST_S seconds, so that a dead embedder
    costs one turn its time, not every turn. A question that was refused is no sign of that.

    Raises EmbedderError, naming the model, TextRefusedError for a text that the endpoint does not
    take; ConfigError unchanged.
    """

    def __init__(
        self,
        inner: Embedder,
        policy: EmbedderSettings,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        seconds: Callable[[], float] = time.monotonic,
        rng: random.Random | None = None,
    ) -> None:
        self._inner = inner
        self._policy = policy
        self._sleep = sleep
        self._seconds = seconds
        self._rng = rng or random.SystemRandom()
        self._gave_up: tuple[float, str] | None = None
        self._at_once = MOST_TEXTS
        self._full_calls = 0

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._inner.model

    @property
    def dimension(self) -> int | None:
        """Numbers in a vector, once one was made."""
        return self._inner.dimension

    async def query(self, text: str) -> Vector:
        """The vector of a question."""
        if self._gave_up and self._seconds() < self._gave_up[0]:
            raise EmbedderError(f"{self._gave_up[1]}; not asked again for {REST_S:.0f} s")
        try:
            async with asyncio.timeout(self._policy.timeout_s):
                vector = await self._persist(lambda: self._inner.query(text))
        except TextRefusedError:
            raise
        except (EmbedderError, TimeoutError) as error:
            reported = str(error) or f"embedder {self.model} did not answer in time"
            self._gave_up = (self._seconds() + REST_S, reported)
            raise EmbedderError(reported) from error
        self._gave_up = None
        return vector

    async def passages(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors of texts."""
        vectors: list[Vector] = []
        while len(vectors) < len(texts):
            rest = texts[len(vectors) :]
            vectors += await self._persist(partial(self._some, rest))
        return vectors

    async def close(self) -> None:
        """Close the embedder."""
        await self._inner.close()

    async def _some(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors of the first texts, as many as the endpoint is asked for at once."""
        count = self._at_once
        if len(texts) > 1:
            # Set first: a call that takes too long is cancelled.
            self._at_once = max(1, count // 2)
        vectors = await self._inner.passages(texts[:count])
        self._at_once = count
        if len(texts) >= count:
            self._grow()
        return vectors

    def _grow(self) -> None:
        self._full_calls += 1
        if self._full_calls % GROWS_AFTER == 0:
            self._at_once = min(MOST_TEXTS, self._at_once + 1)

    async def _persist(self, call: Callable[[], Awaitable[T]]) -> T:
        """What the call returns, tried as often as the policy allows."""
        tries = 0
        while True:
            tries += 1
            try:
                async with asyncio.timeout(self._policy.timeout_s):
                    return await call()
            except Exception as error:
                failure = failure_of(error, model=self.model, role="embedder")
                if not failure.retriable or tries > self._policy.retries:
                    raise _final(failure.error, error) from error
            await self._sleep(self._pause_s(failure, tries))
            _log.info("embedder_retry model=%s try=%d", self.model, tries)

    def _pause_s(self, failure: Failure, tries: int) -> float:
        """Seconds that the endpoint asks for, or a random time."""
        if failure.retry_after_s is not None:
            return min(failure.retry_after_s, MAX_WAIT_S)
        longest = self._policy.backoff_s * 2 ** (tries - 1)
        return self._rng.uniform(0.0, min(longest, MAX_WAIT_S))


def _final(error: AccAceError, cause: BaseException) -> AccAceError:
    """What the caller gets: one kind of error, unless a setting is at fault."""
    if not isinstance(error, ModelError) or isinstance(error, EmbedderError):
        return error
    statuses = {status_of(reported) for reported in (cause, cause.__cause__)}
    kind = EmbedderError if statuses.isdisjoint(REFUSED_TEXT) else TextRefusedError
    return kind(str(error))
