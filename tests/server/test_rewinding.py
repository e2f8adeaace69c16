"""ADK's rewind over our session service, which loads the newest few events for a run."""

from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from acc_ace.adk.sessions.event_retention import Retention
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.fakes.session_services import Open, open_service
from tests.pipeline.desk import result_of

__all__ = ["open_service"]

HERE: dict[str, Any] = {"app_name": "shop", "user_id": "aiko", "session_id": "s-1"}
RUN: dict[str, Any] = {"user_id": "aiko", "session_id": "s-1"}


def put(what: str, tool_context: ToolContext) -> dict[str, str]:
    """Put something into the cart.

    Args:
        what: What to put there.
    """
    tool_context.state["cart"] = what
    return {"status": "done"}


def approve(what: str) -> None:
    """Ask a person to approve.

    Args:
        what: What is to be approved.
    """


def runner(service: BaseSessionService, llm: ScriptedLlm) -> Runner:
    agent = LlmAgent(name="clerk", model=llm, tools=[put, LongRunningFunctionTool(approve)])
    app = App(name="shop", root_agent=agent)
    return Runner(app=app, session_service=service, auto_create_session=True)


async def say(running: Runner, message: str | types.Content) -> list[Event]:
    if isinstance(message, str):
        message = types.Content(role="user", parts=[types.Part(text=message)])
    return [event async for event in running.run_async(**RUN, new_message=message)]


async def cart(service: BaseSessionService) -> object:
    session = await service.get_session(**HERE)
    assert session is not None
    return session.state.get("cart")


async def rewind(running: Runner, turn: list[Event]) -> None:
    before = turn[0].invocation_id
    await running.rewind_async(**RUN, rewind_before_invocation_id=before)


async def test_a_rewind_keeps_the_state_that_the_turns_taken_back_did_not_change(
    open_service: Open,
) -> None:
    llm = ScriptedLlm().on("generator", call("put", what="tea"), "Done.")
    service = open_service(recent_events=4)
    running = runner(service, llm)
    await say(running, "Tea, please.")
    for number in range(3):
        await say(running, f"How much is item {number}?")
    last = await say(running, "Tell me a joke.")
    await rewind(running, last)
    assert await cart(service) == "tea"


async def test_a_rewind_brings_back_what_a_turn_that_is_no_longer_loaded_had_written(
    open_service: Open,
) -> None:
    llm = ScriptedLlm().on("generator", call("put", what="tea"), "Done.", "Two.", "Three.")
    llm.on("generator", call("put", what="coffee"), "Done.")
    service = open_service(recent_events=4)
    running = runner(service, llm)
    for text in ("Tea, please.", "How much?", "And now?"):
        await say(running, text)
    changed = await say(running, "Coffee instead.")
    assert await cart(service) == "coffee"
    await rewind(running, changed)
    assert await cart(service) == "tea"


async def test_a_rewind_brings_back_what_the_session_began_with(open_service: Open) -> None:
    llm = ScriptedLlm().on("generator", call("put", what="coffee"), "Done.")
    service = open_service(recent_events=50)
    await service.create_session(**HERE, state={"cart": "tea"})
    running = runner(service, llm)
    changed = await say(running, "Coffee, please.")
    assert await cart(service) == "coffee"
    await rewind(running, changed)
    assert await cart(service) == "tea"


async def test_a_rewind_brings_back_what_a_deleted_event_had_written(open_service: Open) -> None:
    llm = ScriptedLlm().on("generator", call("put", what="tea"), "Done.", "Two.", "Three.", "Four.")
    llm.on("generator", call("put", what="coffee"), "Done.")
    service = open_service(recent_events=50, retention=Retention(2))
    running = runner(service, llm)
    for text in ("Tea, please.", "How much?", "And now?", "And then?"):
        await say(running, text)
    session = await service.get_session(**HERE)
    assert session is not None
    assert not [e for e in session.events if "cart" in e.actions.state_delta]
    changed = await say(running, "Coffee instead.")
    await rewind(running, changed)
    assert await cart(service) == "tea"


async def test_a_key_that_no_event_before_the_turn_wrote_is_gone_after_a_rewind(
    open_service: Open,
) -> None:
    llm = ScriptedLlm().on("generator", "Hello.", call("put", what="coffee"), "Done.")
    service = open_service(recent_events=50)
    await service.create_session(**HERE, state={"name": "Aiko", "user:tea": "green"})
    running = runner(service, llm)
    await say(running, "Hello.")
    changed = await say(running, "Coffee, please.")
    await rewind(running, changed)
    session = await service.get_session(**HERE)
    assert session is not None
    assert session.state == {"name": "Aiko", "user:tea": "green", "cart": None}


async def test_a_call_that_was_taken_back_can_no_longer_be_answered(open_service: Open) -> None:
    llm = ScriptedLlm().on("generator", call("approve", what="zebra"), "Fine.", "Approved.")
    running = runner(open_service(recent_events=0), llm)
    asked = await say(running, "Buy a zebra.")
    [waiting] = [found for event in asked for found in event.get_function_calls()]
    await rewind(running, asked)
    await say(running, "Good morning.")
    with pytest.raises(ValueError, match="Function call not found"):
        await say(running, result_of(waiting, {"approved": True}))
    assert len(llm.requests) == 2
