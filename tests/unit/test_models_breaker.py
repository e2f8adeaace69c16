"""The breaker of a model opens for a bounded time, and lets one call try before it closes."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse

from acc_ace.errors import ModelUnavailable
from acc_ace.models.breaker import MAX_PAUSE_S, Breaker
from acc_ace.models.failures import Failure
from acc_ace.models.resilient import ResilientLlm
from config import AgentSettings
from tests.fakes.scripted_llm import Script, ScriptedLlm

HOUR = 3_600.0


class SetClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


def busy(wait: float | None = None) -> Failure:
    """A model that is unavailable, and asks to wait for so long."""
    return Failure(ModelUnavailable("429"), retry_after_s=wait, reason="answered HTTP 429")


def pauses(breaker: Breaker, clock: SetClock, wait: float | None) -> Iterator[float]:
    """How long it stays shut after each failure, one after the other."""
    while True:
        breaker.fail(busy(wait))
        since = clock.time
        while breaker.objection():
            clock.time += timedelta(seconds=1)
        yield (clock.time - since).total_seconds()


def test_one_reply_does_not_close_a_model_for_the_hour_that_it_asks_for(clock: SetClock) -> None:
    shut = pauses(Breaker(clock), clock, HOUR)
    assert [next(shut) for _ in range(8)] == [60, 120, 240, 480, 960, 1_920, HOUR, HOUR]


@pytest.mark.parametrize(("wait", "first"), [(45.0, 45), (1e9, 60)])
def test_pause_is_never_longer_than_what_was_asked_for_or_a_day(
    wait: float, first: float, clock: SetClock
) -> None:
    shut = pauses(Breaker(clock), clock, wait)
    assert next(shut) == first
    assert max(next(shut) for _ in range(12)) == min(wait, MAX_PAUSE_S)


def test_reply_begins_the_pauses_anew(clock: SetClock) -> None:
    breaker = Breaker(clock)
    shut = pauses(breaker, clock, HOUR)
    assert [next(shut), next(shut)] == [60, 120]
    breaker.succeed()
    assert next(shut) == 60


def test_failures_of_calls_at_once_open_it_once(clock: SetClock) -> None:
    breaker = Breaker(clock)
    for _ in range(9):
        breaker.fail(busy(HOUR))
    assert "2026-01-01 12:01:00 UTC: it answered HTTP 429; it asks to wait for 3600 s" in str(
        breaker.objection()
    )


def test_after_a_pause_one_call_at_a_time_tries(clock: SetClock) -> None:
    breaker, first, second = Breaker(clock, failures=1), object(), object()
    breaker.fail(busy())
    assert "is not asked before" in str(breaker.admit(first))
    clock.time += timedelta(seconds=31)
    assert breaker.admit(first) is None
    assert "while one call tries" in str(breaker.admit(second))
    breaker.leave(second)
    assert breaker.admit(second) is not None
    breaker.leave(first)
    assert breaker.admit(second) is None
    breaker.succeed()
    assert breaker.admit(first) is None


def test_failed_probe_opens_it_again_whatever_failed(clock: SetClock) -> None:
    breaker = Breaker(clock, failures=5, pause_s=30)
    breaker.fail(busy(HOUR))
    clock.time += timedelta(seconds=61)
    breaker.fail(busy())
    assert "2026-01-01 12:01:31 UTC" in str(breaker.objection())


def asking(breaker: Breaker, reply: Script) -> AsyncGenerator[LlmResponse, None]:
    primary = ScriptedLlm(model="scripted/primary").on("generator", reply)
    model = ResilientLlm(model="m", role="generator", policy=AgentSettings(), primary=primary)
    model.breaker_of = lambda _: breaker
    return model.generate_content_async(LlmRequest(), stream=True)


async def test_probe_that_is_cancelled_or_not_read_on_keeps_nobody_out(clock: SetClock) -> None:
    breaker, never = Breaker(clock, failures=1), asyncio.Event()
    breaker.fail(busy())
    clock.time += timedelta(seconds=31)
    probe = asyncio.ensure_future(anext(asking(breaker, lambda _: stalled(never))))
    await asyncio.sleep(0.01)
    with pytest.raises(ModelUnavailable, match="while one call tries"):
        await anext(asking(breaker, "refused"))
    probe.cancel()
    await asyncio.wait([probe])
    unread = asking(breaker, "an answer of more than one chunk")
    assert (await anext(unread)).partial
    assert [each async for each in asking(breaker, "fine")][-1].content
    assert breaker.objection() is None
    await unread.aclose()


async def stalled(never: asyncio.Event) -> str:
    await never.wait()
    return ""
