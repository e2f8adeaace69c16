"""What ADK's memory service holds of a session stays when the plugin comes and its turn fails."""

from collections.abc import AsyncIterator, Sequence

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.memory import BaseMemoryService
from google.adk.plugins import BasePlugin
from google.adk.runners import Runner
from google.genai import types

from acc_ace import BoundedMemoryPlugin, Container
from acc_ace.adk.artifact_services import memory_service
from acc_ace.adk.plugin.turn_memory import MODEL_ROLES
from acc_ace.adk.sessions.create_session_service import open_session_service
from tests.fakes.place import Place
from tests.fakes.scripted_llm import Reply, ScriptedLlm


@pytest.fixture
async def container(place: Place) -> AsyncIterator[Container]:
    opened = place.open()
    yield opened
    await opened.close()


def runner(container: Container, *replies: Reply, plugins: Sequence[BasePlugin] = ()) -> Runner:
    agent = LlmAgent(name="ops", model=ScriptedLlm().on("generator", *replies))
    return Runner(
        app=App(name="desk", root_agent=agent, plugins=list(plugins)),
        session_service=open_session_service(container),
        memory_service=memory_service(container),
        auto_create_session=True,
    )


async def say(agent: Runner, text: str) -> None:
    content = types.Content(role="user", parts=[types.Part(text=text)])
    async for _ in agent.run_async(user_id="u", session_id="s1", new_message=content):
        pass


async def found(memory: BaseMemoryService) -> str:
    return str(
        (
            await memory.search_memory(app_name="desk", user_id="u", query="vault walnut Zanzibar")
        ).memories
    )


async def test_a_failed_turn_hides_nothing_that_was_said_before_the_plugin_came(
    container: Container,
) -> None:
    before = runner(container, "Noted.")
    for text in ("The vault's code word is walnut.", "The vault is in Zanzibar."):
        await say(before, text)
    memory = memory_service(container)
    session = await before.session_service.get_session(
        app_name="desk", user_id="u", session_id="s1"
    )
    assert session is not None
    await memory.add_session_to_memory(session)
    plugin = BoundedMemoryPlugin(container, models=dict.fromkeys(MODEL_ROLES, ScriptedLlm()))
    bounded = runner(container, RuntimeError("the model is down"), "Sure.", plugins=[plugin])
    with pytest.raises(RuntimeError, match="the model is down"):
        await say(bounded, "Hello.")
    assert "walnut" in await found(memory)
    await say(bounded, "Hello.")
    assert "Zanzibar" in await found(memory)
