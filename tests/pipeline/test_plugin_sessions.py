"""The plugin over real stores: any session service, several processes' worth of plugins."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, InMemorySessionService
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

from acc_ace import BoundedMemoryPlugin, Container, build_container, build_model
from acc_ace.adk.plugin.turn_memory import MODEL_ROLES
from acc_ace.models.resilient import ResilientLlm
from config import Settings
from tests.fakes.fake_gemini import fake_gemini, says
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.fakes.session_services import close, in_file
from tests.pipeline.desk import KEY, result_of, text_of, unquoted, whole, with_note

BAN = "No restarts on Sundays."


def approve(what: str) -> None:
    """Ask a person to approve.

    Args:
        what: What is to be approved.
    """


def runner(container: Container, llm: ScriptedLlm, sessions: BaseSessionService) -> Runner:
    plugin = BoundedMemoryPlugin(container, models=dict.fromkeys(MODEL_ROLES, ScriptedLlm()))
    agent = LlmAgent(name="ops", model=llm, tools=[LongRunningFunctionTool(approve)])
    app = App(name=KEY.app, root_agent=agent, plugins=[plugin])
    return Runner(app=app, session_service=sessions, auto_create_session=True)


async def say(
    running: Runner, message: str | types.Content, *, recent: int | None = None
) -> tuple[str, list[types.FunctionCall]]:
    """The last text and the calls of a turn."""
    if isinstance(message, str):
        message = types.Content(role="user", parts=[types.Part(text=message)])
    config = GetSessionConfig(num_recent_events=recent) if recent is not None else None
    text, calls = "", []
    async for event in running.run_async(
        user_id=KEY.user,
        session_id=KEY.session,
        new_message=message,
        run_config=RunConfig(get_session_config=config),
    ):
        text = text_of(event) or text
        calls += event.get_function_calls()
    return text, calls


@pytest.mark.parametrize(
    "service",
    [
        pytest.param(lambda path: SqliteSessionService(str(path / "adk.db")), id="adk-sqlite"),
        pytest.param(
            lambda path: in_file(path, recent_events=50),
            id="bounded",
        ),
    ],
)
async def test_a_conversation_with_a_pause_runs_on_every_session_service(
    service: Callable[[Path], BaseSessionService], tmp_path: Path
) -> None:
    container = build_container(Settings(data_dir=tmp_path / "data"))
    llm = ScriptedLlm().on("generator", "Noted.", call("approve", what="it"), "Done.", "Yes.")
    sessions = service(tmp_path)
    running = runner(container, llm, sessions)
    assert (await say(running, BAN))[0] == with_note("Noted.", BAN)
    _, [waiting] = await say(running, "Restart db-01.")
    assert (await say(running, result_of(waiting, {"ok": True})))[0] == "Done."
    assert (await say(running, "Is it up?"))[0] == "Yes."
    assert BAN in whole(llm.requests[-1])
    assert "Restart db-01." not in unquoted(str(llm.requests[-1].contents))
    kept = await container.evidence.list(KEY)
    assert [interaction.turn for interaction in kept] == [3, 2, 1]
    await running.close()
    await close(sessions)
    await container.close()


async def test_no_past_events_need_to_be_loaded_at_all(tmp_path: Path) -> None:
    container = build_container(Settings(data_dir=tmp_path / "data"))
    llm = ScriptedLlm().on("generator", "Noted.")
    running = runner(container, llm, SqliteSessionService(str(tmp_path / "adk.db")))
    for text in (BAN, "Hello.", "Hello again."):
        await say(running, text, recent=0)
    assert BAN in whole(llm.requests[-1])
    await container.close()


async def test_another_process_goes_on_where_the_first_one_was_paused(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    first, second = build_container(settings), build_container(settings)
    path = str(tmp_path / "adk.db")
    llm = ScriptedLlm().on("generator", call("approve", what="it"))
    _, [waiting] = await say(runner(first, llm, SqliteSessionService(path)), f"Restart. {BAN}")
    await first.close()
    later = ScriptedLlm().on("generator", "Done.")
    running = runner(second, later, SqliteSessionService(path))
    assert (await say(running, result_of(waiting, {"ok": True})))[0] == with_note("Done.", BAN)
    assert BAN in whole(later.requests[-1])
    [interaction] = await second.evidence.list(KEY)
    assert interaction.input.text == f"Restart. {BAN}"
    await second.close()


# google-genai subclasses aiohttp's session, where that is installed, and aiohttp warns of it.
@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
async def test_what_goes_over_the_wire_to_gemini_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    container = build_container(Settings(store="memory"))
    with fake_gemini() as gemini:
        monkeypatch.setenv("GOOGLE_API_KEY", "test-key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", gemini.base_url)
        gemini.script("generator", says("Noted, kiwi."))
        plugin = BoundedMemoryPlugin(container, models=dict.fromkeys(MODEL_ROLES, ScriptedLlm()))
        model = build_model("generator", container.settings)
        agent = LlmAgent(name="ops", model=model, instruction="Be kind.")
        app = App(name=KEY.app, root_agent=agent, plugins=[plugin])
        running = Runner(
            app=app, session_service=InMemorySessionService(), auto_create_session=True
        )
        assert (await say(running, BAN))[0] == with_note("Noted, kiwi.", BAN)
        for text in ("My marker is zebra.", "Hello.", "And now?"):
            assert (await say(running, text))[0] == "Noted, kiwi."
        body = gemini.requests[-1].body
        await running.close()
        assert isinstance(model, ResilientLlm)
        await model.aclose()
    memory, said = (content["parts"][0]["text"] for content in body["contents"])
    assert memory.startswith('<input name="state">')
    assert said == "And now?"
    sent = json.dumps(body)
    assert BAN in sent
    assert "kiwi" not in unquoted(sent)
    assert "zebra" not in unquoted(sent)
