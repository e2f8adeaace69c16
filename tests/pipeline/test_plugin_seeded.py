"""Sessions that somebody else filled before the first turn: their messages reach no model."""

import importlib.util
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.apps import App
from google.adk.events import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions import BaseSessionService, InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.workflow import START, Workflow
from google.genai import types

from acc_ace.bootstrap import process_container
from acc_ace.errors import MemoryBypassedError
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.fakes.session_services import close, in_file
from tests.pipeline.desk import KEY, Desk, result_of, whole

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin_transfer" / "agent.py"
SERVICES = [
    pytest.param(lambda _: InMemorySessionService(), id="in-memory"),
    pytest.param(lambda path: SqliteSessionService(str(path / "adk.db")), id="adk-sqlite"),
    pytest.param(
        lambda path: in_file(path, recent_events=50),
        id="bounded",
    ),
]


def said(author: str, text: str, **more: str) -> Event:
    """An event as clients seed it: nobody gives it an invocation."""
    role = "user" if author == "user" else "model"
    content = types.Content(role=role, parts=[types.Part(text=text)])
    return Event(author=author, content=content, **more)


async def seed(sessions: BaseSessionService, *authors: str) -> None:
    """Three questions and answers, the answers by `authors` in turn."""
    session = await sessions.create_session(
        app_name=KEY.app, user_id=KEY.user, session_id=KEY.session
    )
    for number in range(3):
        author = authors[number % len(authors)]
        await sessions.append_event(session, said("user", f"My old card is zebra{number}."))
        await sessions.append_event(session, said(author, f"I see the zebra{number}."))


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("stream", [False, True])
async def test_seeded_messages_reach_no_model(
    service: Callable[[Path], BaseSessionService], stream: bool, tmp_path: Path
) -> None:
    llm = ScriptedLlm().on("generator", "Hi.", "Hello.")
    app = Desk(LlmAgent(name="helper", model=llm), sessions=service(tmp_path))
    await seed(app.sessions, "helper")
    assert await app.ask("What is up?", stream=stream) == "Hi."
    assert await app.ask("And now?", stream=stream) == "Hello."
    for request in [*llm.requests, *app.memory.requests]:
        assert "zebra" not in whole(request)
    assert "And now?" in whole(llm.requests[-1])
    session = await app.sessions.get_session(
        app_name=KEY.app, user_id=KEY.user, session_id=KEY.session
    )
    assert session is not None
    assert len([event for event in session.events if "zebra" in event.model_dump_json()]) == 6
    await close(app.sessions)


@pytest.fixture
async def example() -> AsyncIterator[LlmAgent]:
    """The root agent of the transfer example, whose agents are played by one script."""
    process_container.cache_clear()
    spec = importlib.util.spec_from_file_location("plugin_transfer_agent", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert isinstance(module.app, App)
    assert isinstance(module.root_agent, LlmAgent)
    yield module.root_agent
    await process_container().close()
    process_container.cache_clear()


@pytest.mark.parametrize("last", ["coordinator", "billing"])
async def test_seeded_messages_reach_no_agent_of_the_transfer_example(
    example: LlmAgent, last: str
) -> None:
    llm = ScriptedLlm().on("generator", "Invoice 7 is open.", "The disk is full.")
    for agent in (example, *example.sub_agents):
        assert isinstance(agent, LlmAgent)
        agent.model = llm
    app = Desk(example)
    await seed(app.sessions, "coordinator", last, last)
    assert await app.ask("Invoice 7, please.") == "Invoice 7 is open."
    assert await app.ask("What of the disk?") == "The disk is full."
    assert len(llm.requests) == 2
    for request in llm.requests:
        assert "zebra" not in whole(request)


@pytest.mark.filterwarnings(
    # ADK's AgentTool itself hands its plugins on in the way that ADK deprecates.
    "ignore:The `plugins` argument is deprecated:DeprecationWarning"
)
async def test_seeded_messages_reach_no_agent_that_is_called_as_a_tool() -> None:
    expert = ScriptedLlm().on("generator", "It is open.")
    boss = ScriptedLlm().on("generator", call("expert", request="invoice 7"), "Still open.")
    tool: BaseTool = AgentTool(LlmAgent(name="expert", model=expert, description="Looks."))
    app = Desk(LlmAgent(name="boss", model=boss, tools=[tool]))
    await seed(app.sessions, "boss")
    assert await app.ask("What of invoice 7?") == "Still open."
    assert all("zebra" not in whole(request) for request in [*boss.requests, *expert.requests])


async def test_seeded_messages_reach_no_node_of_a_workflow_and_its_inputs_do() -> None:
    def shout(node_input: str) -> str:
        return node_input.upper()

    writer, editor = (ScriptedLlm().on("generator", text) for text in ("draft", "The text."))
    first, last = LlmAgent(name="writer", model=writer), LlmAgent(name="editor", model=editor)
    app = Desk(Workflow(name="flow", edges=[(START, first, shout, last)]))
    await seed(app.sessions, "writer")
    assert await app.ask("The text, please.") == "The text."
    assert "DRAFT" in whole(editor.requests[-1])
    assert all("zebra" not in whole(request) for request in [*writer.requests, *editor.requests])


async def test_what_is_seeded_while_a_turn_waits_stays_out_of_sight_when_it_goes_on() -> None:
    def approve(what: str) -> None:
        """Ask a person to approve.

        Args:
            what: What is to be approved.
        """

    llm = ScriptedLlm().on("generator", call("approve", what="restart"), "Restarted.")
    app = Desk(LlmAgent(name="ops", model=llm, tools=[LongRunningFunctionTool(approve)]))
    await seed(app.sessions, "ops")
    events = await app.say("Restart db-01.")
    [waiting] = [found for event in events for found in event.get_function_calls()]
    session = await app.sessions.get_session(
        app_name=KEY.app, user_id=KEY.user, session_id=KEY.session
    )
    assert session is not None
    await app.sessions.append_event(session, said("ops", "A late zebra."))
    assert await app.ask(result_of(waiting, {"approved": True})) == "Restarted."
    assert [content.role for content in llm.requests[-1].contents] == [
        "user",
        "user",
        "model",
        "user",
    ]
    assert all("zebra" not in whole(request) for request in llm.requests)


class Reloader(BasePlugin):
    """Loads the whole session again, just before the memory plugin looks at a request."""

    def __init__(self, sessions: BaseSessionService) -> None:
        super().__init__("reloader")
        self._sessions = sessions

    async def before_agent_callback(
        self, *, agent: object, callback_context: CallbackContext
    ) -> types.Content | None:
        stored = await self._sessions.get_session(
            app_name=KEY.app, user_id=KEY.user, session_id=KEY.session
        )
        assert stored is not None
        callback_context.session.events[:] = stored.events
        return None


@pytest.mark.parametrize("recent", [2, 50])
async def test_seeded_messages_that_are_loaded_again_end_the_run(
    recent: int, tmp_path: Path
) -> None:
    llm = ScriptedLlm().on("generator", "Hi.")
    sessions = in_file(tmp_path, recent_events=recent)
    app = Desk(LlmAgent(name="helper", model=llm), sessions=sessions)
    await seed(sessions, "helper")
    app.runner.plugin_manager.register_plugin(Reloader(sessions))
    with pytest.raises(RuntimeError, match="earlier turns") as raised:
        await app.ask("What is up?")
    assert isinstance(raised.value.__cause__, MemoryBypassedError)
    assert llm.requests == []
    await sessions.close()
