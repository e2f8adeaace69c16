"""What a rewind of ADK's took back does not come back, and what it left goes on, also when the
turn before which it was has left the window."""

import pytest
from google.adk.agents.run_config import RunConfig
from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types

from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.fakes.session_services import Open, open_service
from tests.pipeline.desk import result_of, whole
from tests.server.test_rewinding import HERE, RUN, rewind, runner, say

__all__ = ["open_service"]

LATER = 8
SECRET = "walnut"


def words(count: int) -> list[str]:
    return [f"Answer {number}." for number in range(count)]


def waiting_call(events: list[Event]) -> types.FunctionCall:
    [found] = [found for event in events for found in event.get_function_calls()]
    return found


async def is_refused(running: Runner, waiting: types.FunctionCall) -> None:
    with pytest.raises(ValueError, match="Function call not found"):
        await say(running, result_of(waiting, {"approved": True}))


async def test_no_window_lets_a_call_be_answered_that_was_taken_back(open_service: Open) -> None:
    llm = ScriptedLlm().on("generator", "Hello.", call("approve", what="zebra"), *words(LATER))
    running = runner(open_service(recent_events=8), llm)
    first = await say(running, "Hello.")
    waiting = waiting_call(await say(running, "Buy a zebra."))
    await rewind(running, first)
    for number in range(LATER):
        await say(running, f"Question {number}?")
        await is_refused(running, waiting)


async def test_no_request_holds_words_that_were_taken_back(open_service: Open) -> None:
    llm = ScriptedLlm().on("generator", "Hello.", "I see.", *words(LATER))
    running = runner(open_service(recent_events=6), llm)
    first = await say(running, "Hello.")
    await say(running, f"The password is {SECRET}.")
    await rewind(running, first)
    for number in range(LATER):
        await say(running, f"Question {number}?")
        assert SECRET not in whole(llm.requests[-1])


async def test_a_run_that_asks_for_so_many_events_gets_none_that_were_taken_back(
    open_service: Open,
) -> None:
    llm = ScriptedLlm().on("generator", "Hello.", "I see.", *words(LATER))
    running = runner(open_service(recent_events=50), llm)
    first = await say(running, "Hello.")
    await say(running, f"The password is {SECRET}.")
    await rewind(running, first)
    few = RunConfig(get_session_config=GetSessionConfig(num_recent_events=7))
    for number in range(LATER):
        asked = types.Content(role="user", parts=[types.Part(text=f"Question {number}?")])
        async for _ in running.run_async(**RUN, new_message=asked, run_config=few):
            pass
        assert SECRET not in whole(llm.requests[-1])


async def test_a_turn_from_before_the_rewind_goes_on_waiting(open_service: Open) -> None:
    llm = ScriptedLlm().on("generator", call("approve", what="zebra"), "Hello.", *words(LATER))
    llm.on("generator", "It is bought.")
    running = runner(open_service(recent_events=6), llm)
    waiting = waiting_call(await say(running, "Buy a zebra."))
    hello = await say(running, "Hello.")
    await say(running, f"The password is {SECRET}.")
    await rewind(running, hello)
    for number in range(LATER - 1):
        await say(running, f"Question {number}?")
    await say(running, result_of(waiting, {"approved": True}))
    assert "Buy a zebra." in whole(llm.requests[-1])
    assert SECRET not in whole(llm.requests[-1])


async def test_a_second_rewind_takes_back_more_than_the_first(open_service: Open) -> None:
    llm = ScriptedLlm().on("generator", "Hello.", call("approve", what="zebra"))
    llm.on("generator", *words(LATER + 1))
    running = runner(open_service(recent_events=8), llm)
    first = await say(running, "Hello.")
    asked = await say(running, f"Buy a zebra, the password is {SECRET}.")
    await rewind(running, asked)
    await rewind(running, first)
    for number in range(LATER):
        await say(running, f"Question {number}?")
        assert SECRET not in whole(llm.requests[-1])
        await is_refused(running, waiting_call(asked))


def turn_of(events: list[Event]) -> str:
    return events[0].invocation_id


async def stored(service: BaseSessionService) -> list[Event]:
    session = await service.get_session(**HERE)
    assert session is not None
    return session.events
