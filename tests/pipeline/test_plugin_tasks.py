"""A turn under the plugin belongs to its run, whichever tasks take the events."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event

from acc_ace.core.schemas.interaction import Outcome
from acc_ace.turn.lifecycle import TurnLifecycle
from acc_ace.turn.turn_record import TurnRecord
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.pipeline.desk import Desk
from tests.pipeline.test_leaving_at_the_answer import ROOTS


def look(what: str) -> str:
    """Look at something."""
    return f"{what} is fine"


@pytest.fixture
def desk() -> Desk:
    llm = ScriptedLlm().on("generator", call("look", what="db-01"), "All is fine.")
    return Desk(LlmAgent(name="helper", model=llm, tools=[look]))


async def next_of(events: AsyncIterator[Event]) -> Event | None:
    return await anext(events, None)


async def test_the_events_of_a_run_may_be_taken_in_several_tasks(desk: Desk) -> None:
    events, taken = desk.run("How is db-01?"), 0
    # A task for each, as `asyncio.wait_for` has on Python 3.11.
    while await asyncio.create_task(next_of(events)) is not None:
        taken += 1
    assert taken == 3
    assert [each.outcome for each in await desk.evidence()] == [Outcome.ANSWERED]


async def test_each_event_may_have_a_time_limit_of_its_own(desk: Desk) -> None:
    events, taken = desk.run("How is db-01?"), 0
    while True:
        try:
            async with asyncio.timeout(30):
                await anext(events)
        except StopAsyncIteration:
            break
        taken += 1
    assert taken == 3
    assert [each.outcome for each in await desk.evidence()] == [Outcome.ANSWERED]


@pytest.mark.parametrize("root", ROOTS)
async def test_who_left_a_turn_open_may_cancel_all_other_tasks_and_wait_for_them(root: str) -> None:
    desk = Desk(ROOTS[root]())
    events = desk.run("Look at db-01.")
    async for event in events:
        if event.is_final_response():
            break
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    async with asyncio.timeout(10):
        await asyncio.gather(*others, return_exceptions=True)
    await desk.settled()
    assert [each.outcome for each in await desk.evidence()] == [Outcome.ANSWERED]


def test_an_event_loop_that_ends_waits_for_the_turn_whose_task_it_cancels(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail = TurnLifecycle.fail

    async def fail_slowly(self: TurnLifecycle, record: TurnRecord) -> None:
        await asyncio.sleep(0.2)
        await fail(self, record)

    monkeypatch.setattr(TurnLifecycle, "fail", fail_slowly)

    async def leave() -> None:
        events, left = desk.run("How is db-01?"), asyncio.Event()

        async def look_once() -> None:
            await anext(events)
            left.set()
            await asyncio.Event().wait()

        leaving = asyncio.create_task(look_once())
        await left.wait()
        assert not leaving.done()

    asyncio.run(leave())
    assert [each.outcome for each in asyncio.run(desk.evidence())] == [Outcome.FAILED]
