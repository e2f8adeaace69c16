"""The plugin over our session service as it opens by default, with no recent events."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.artifacts import InMemoryArtifactService
from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from acc_ace import Container, Conversation, build_container
from acc_ace.adk.sessions.create_session_service import open_session_service
from config import Settings
from tests.fakes.extensions import needs
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.pipeline.desk import KEY, Desk, whole

HERE: dict[str, Any] = {"app_name": KEY.app, "user_id": KEY.user, "session_id": KEY.session}
RUN: dict[str, Any] = {"user_id": KEY.user, "session_id": KEY.session}


@pytest.fixture
async def container(tmp_path: Path) -> AsyncIterator[Container]:
    built = build_container(Settings(data_dir=tmp_path, learning="off"))
    yield built
    await built.close()


async def loaded(sessions: BaseSessionService) -> list[str]:
    """The messages and answers that ADK's Runner would load for a turn."""
    session = await sessions.get_session(**HERE, config=None)
    assert session is not None
    parts = [part for each in session.events if each.content for part in each.content.parts or []]
    return [part.text for part in parts if part.text]


async def test_a_conversation_goes_on_with_the_agent_that_answered_last(
    container: Container,
) -> None:
    boss = ScriptedLlm().on("generator", call("transfer_to_agent", agent_name="billing"))
    billing = ScriptedLlm().on("generator", "It is paid.")
    clerk = LlmAgent(name="billing", model=billing, description="Knows invoices.")
    root = LlmAgent(name="coordinator", model=boss, sub_agents=[clerk])
    sessions = open_session_service(container)
    app = Desk(root, over=container, sessions=sessions)
    await app.ask("Is invoice 7 paid?")
    session = await sessions.get_session(**HERE)
    assert session is not None
    patch = Event(author="user", invocation_id="p-1")
    for number in range(8, 12):
        await sessions.append_event(session, patch.model_copy(update={"id": f"patch-{number}"}))
        assert await app.ask(f"And invoice {number}?") == "It is paid."
    assert len(boss.requests) == 1
    assert await loaded(sessions) == ["And invoice 11?", "It is paid."]


@needs("embedded")
async def test_a_conversation_over_the_api_goes_on_with_that_agent_too(
    container: Container,
) -> None:
    boss = ScriptedLlm().on("generator", call("transfer_to_agent", agent_name="billing"))
    billing = ScriptedLlm().on("generator", "It is paid.")
    clerk = LlmAgent(name="billing", model=billing, description="Knows invoices.")
    root = LlmAgent(name="coordinator", model=boss, sub_agents=[clerk])
    conversation = Conversation(container, app=Desk(root, over=container).runner.app)
    for number in range(7, 10):
        report = await conversation.turn(KEY, f"Is invoice {number} paid?")
        assert report.answer == "It is paid."
    assert len(boss.requests) == 1
    await conversation.close()


async def put(what: str, tool_context: ToolContext) -> str:
    """Put something into the cart, and print the receipt.

    Args:
        what: What to put there.
    """
    tool_context.state["cart"] = what
    await tool_context.save_artifact("receipt", types.Part(text=what))
    return "done"


async def test_a_rewind_finds_the_turn_and_brings_back_state_and_files(
    container: Container,
) -> None:
    llm = ScriptedLlm()
    for what in ("tea", "coffee", "cake"):
        llm.on("generator", call("put", what=what), "Done.")
    sessions, files = open_session_service(container), InMemoryArtifactService()
    await sessions.create_session(**HERE, state={"cart": "empty", "app:open": True})
    app = Desk(LlmAgent(name="clerk", model=llm, tools=[put]), over=container, sessions=sessions)
    app.runner.artifact_service = files
    turns = [await app.say(f"{what}, please.") for what in ("Tea", "Coffee", "Cake")]
    second, first = turns[1][0].invocation_id, turns[0][0].invocation_id
    await app.runner.rewind_async(**RUN, rewind_before_invocation_id=second)
    state = await app.session_state()
    receipt = await files.load_artifact(**HERE, filename="receipt")
    assert receipt is not None
    assert (receipt.text, state["cart"], state["app:open"]) == ("tea", "tea", True)
    await app.runner.rewind_async(**RUN, rewind_before_invocation_id=first)
    assert (await app.session_state())["cart"] == "empty"
    assert await loaded(sessions) == []


async def test_a_process_without_the_plugin_shows_its_agent_what_was_said(
    container: Container,
) -> None:
    bounded = Desk(
        LlmAgent(name="clerk", model=ScriptedLlm().on("generator", "Noted.")),
        over=container,
        sessions=open_session_service(container),
    )
    for number in range(3):
        await bounded.ask(f"Message {number}.")
    other = build_container(container.settings)
    llm = ScriptedLlm().on("generator", "You sent three.")
    sessions = open_session_service(other)
    runner = Runner(
        app_name=KEY.app, agent=LlmAgent(name="clerk", model=llm), session_service=sessions
    )
    question = types.UserContent("How many messages did I send?")
    assert [each async for each in runner.run_async(**RUN, new_message=question)]
    request = whole(llm.requests[-1])
    assert [number for number in range(4) if f"Message {number}." in request] == [0, 1, 2]
    await other.close()
