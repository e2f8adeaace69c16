"""What keeps background learning from costing too much, or from standing in the way of answers."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.container import LoadMonitor
from acc_ace.core.schemas.learning_job import Attempt, JobState, LearningJob
from acc_ace.errors import InputError, NotFoundError
from acc_ace.ext.background.learning_budget import HOUR, budget_wait_s
from schemas.base import SessionKey
from tests.ext.background.conftest import Make
from tests.ext.background.learners import KEY, conversation, lessons, queue_of, reached, settled
from tests.ext.background.test_killed_workers import opened, seed
from tests.fakes.clock import START
from tests.fakes.scripted_llm import ScriptedLlm

ATTEMPTS = st.lists(
    st.builds(
        Attempt,
        at=st.integers(-7_200, 600).map(lambda s: START + timedelta(seconds=s)),
        tokens=st.integers(0, 1_000),
    ),
    max_size=20,
)


def tokens_spent(attempts: Sequence[Attempt], now: datetime) -> int:
    """Tokens of the attempts of the last hour."""
    return sum(attempt.tokens for attempt in attempts if now - HOUR < attempt.at)


@given(ATTEMPTS, st.integers(1, 5_000))
def test_a_job_waits_exactly_until_the_hour_has_room(made: Sequence[Attempt], bound: int) -> None:
    wait_s = budget_wait_s(made, START, tokens_per_hour=bound)
    assert 0 <= wait_s <= HOUR.total_seconds()
    assert (wait_s == 0) == (tokens_spent(made, START) < bound)
    past = [attempt for attempt in made if attempt.at <= START]
    wait_s = budget_wait_s(past, START, tokens_per_hour=bound)
    assert tokens_spent(past, START + timedelta(seconds=wait_s)) < bound


@given(ATTEMPTS)
def test_without_a_bound_no_job_waits(made: Sequence[Attempt]) -> None:
    assert budget_wait_s(made, START, tokens_per_hour=0) == 0


def test_learning_waits_after_a_rate_limit_and_while_many_turns_run() -> None:
    pressure = LoadMonitor()
    assert pressure.wait_s(START, most_turns=1, quiet_s=30) == 0
    pressure.rate_limited(START)
    later = START + timedelta(seconds=10)
    assert pressure.wait_s(later, most_turns=1, quiet_s=30) == 20
    assert pressure.wait_s(START + timedelta(seconds=30), most_turns=1, quiet_s=30) == 0
    with pressure.turn():
        assert pressure.wait_s(START + HOUR, most_turns=1, quiet_s=30) == 0
        with pressure.turn():
            assert pressure.wait_s(START + HOUR, most_turns=1, quiet_s=30) > 0
    assert pressure.turns == 0


@pytest.mark.soak
async def test_over_the_budget_jobs_wait_and_none_is_lost(make_sqlite: Make) -> None:
    async with conversation(make_sqlite(tokens_per_hour=1, workers=1)) as talk:
        await talk.turn(KEY, "db-01 is down.")
        queue = queue_of(talk.container)
        (first,) = await settled(queue, jobs=1)
        assert first.tokens > 1
        await talk.turn(KEY, "The violin is broken.")
        await asyncio.sleep(1.0)
        counts = await queue.counts()
        assert counts[JobState.DONE] == 1
        assert counts[JobState.WAITING] + counts[JobState.RUNNING] == 1
        assert await talk.stop_learning() == 1
    async with conversation(make_sqlite(tokens_per_hour=0)) as talk:
        talk.start_learning()
        await settled(queue_of(talk.container), jobs=2)
        assert len(await lessons(talk.container)) == 2


@pytest.mark.soak
async def test_learning_steps_back_for_answers(make_sqlite: Make) -> None:
    async with conversation(make_sqlite(most_turns=1)) as talk:
        pressure = talk.container.pressure
        with pressure.turn(), pressure.turn():
            await talk.turn(KEY, "db-01 is down.")
            await asyncio.sleep(1.0)
            assert (await queue_of(talk.container).counts())[JobState.DONE] == 0
        await settled(queue_of(talk.container), jobs=1)


async def test_beyond_the_bound_the_oldest_jobs_are_shed_with_a_record(make: Make) -> None:
    async with opened(make(queue=3)) as (stores, queue):
        await seed(stores, queue, first=1, count=5)
        jobs = await queue.list()
        waiting = {job.job and job.job.turn for job in jobs if job.state is JobState.WAITING}
        assert waiting == {3, 4, 5}
        shed = [job for job in jobs if job.state is JobState.SHED]
        assert {job.job and job.job.turn for job in shed} == {1, 2}
        assert {job.error for job in shed} == {"shed: queue_full"}
        assert (await queue.retry(shed[0].id)).state is JobState.WAITING


async def test_only_dead_and_shed_jobs_are_done_again(make: Make) -> None:
    async with opened(make()) as (stores, queue):
        await seed(stores, queue, first=1, count=1)
        (job,) = await queue.list()
        with pytest.raises(InputError, match="waiting"):
            await queue.retry(job.id)
        await queue.drop(job.id)
        with pytest.raises(NotFoundError):
            await queue.get(job.id)


async def test_jobs_are_listed_by_user_state_and_page(make: Make) -> None:
    async with opened(make()) as (stores, queue):
        await seed(stores, queue, first=1, count=3)
        other = LearningJob(
            app="acc_ace", user="ops2", session="x", turn=1, invocation_id="i", base_version=0
        )
        await queue.submit(other)
        mine = SessionKey("acc_ace", "ops", "").tenant
        assert len(await queue.list(tenant=mine)) == 3
        assert [job.id for job in await queue.list(tenant=other.tenant)] == [other.id]
        first = await queue.list(tenant=mine, limit=2)
        rest = await queue.list(tenant=mine, limit=2, offset=2)
        assert len({job.id for job in (*first, *rest)}) == 3
        assert await queue.list(states=[JobState.DEAD]) == []


async def test_a_rate_limit_of_a_turn_is_heard(make_sqlite: Make) -> None:
    """End to end over HTTP in tests/ext/background/test_rate_limits.py; here, the waiting job."""
    async with conversation(make_sqlite(quiet_s=2.0), ScriptedLlm()) as talk:
        talk.container.pressure.rate_limited(talk.container.clock.now())
        await talk.turn(KEY, "db-01 is down.")
        queue = queue_of(talk.container)
        (job,) = await queue.list()
        await asyncio.sleep(0.8)
        assert (await queue.get(job.id)).state is not JobState.DONE
        await reached(queue, job.id, JobState.DONE)
