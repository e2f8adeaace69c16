"""A turn that waits for a person goes on whenever the answer comes: 60 turns later, in another
process, with a window of no events, and with old events deleted."""

import logging
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

from acc_ace import BoundedMemoryPlugin, build_container
from acc_ace.adk.plugin.turn_memory import MODEL_ROLES
from acc_ace.adk.sessions.event_retention import Retention
from acc_ace.adk.sessions.event_rows import OPEN_CALLS
from acc_ace.pipeline import APP_NAME, build_app
from config import ROLES, Settings
from schemas.base import Authority, SessionKey
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.fakes.session_services import Open, open_service
from tests.pipeline.desk import result_of, unquoted

__all__ = ["open_service"]

HERE: dict[str, Any] = {"app_name": "shop", "user_id": "aiko", "session_id": "s-1"}
LATER = 60


def approve(what: str) -> None:
    """Ask a person to approve.

    Args:
        what: What is to be approved.
    """


def file_ticket(what: str) -> dict[str, str]:
    """File a ticket that a person works on later.

    Args:
        what: What is wanted.
    """
    return {"status": "pending", "ticket": "T-1"}


def restart(server: str) -> dict[str, str]:
    """Restart a server.

    Args:
        server: Which one.
    """
    return {"restarted": server}


class Shop:
    """A foreign agent over a session service; `restart` opens it as another process would."""

    def __init__(self, open_service: Open, llm: ScriptedLlm, **options: Any) -> None:
        self.open_service, self.llm, self.options = open_service, llm, options
        self.resumable = False
        self.plugins: list[BoundedMemoryPlugin] = []
        self.begin_again()

    def begin_again(self, **options: Any) -> None:
        tools = [
            LongRunningFunctionTool(approve),
            LongRunningFunctionTool(file_ticket),
            FunctionTool(restart, require_confirmation=True),
        ]
        app = App(
            name="shop",
            root_agent=LlmAgent(name="ops", model=self.llm, tools=tools),
            plugins=list(self.plugins),
            resumability_config=ResumabilityConfig(is_resumable=True) if self.resumable else None,
        )
        self.sessions = self.open_service(**{**self.options, **options})
        self.runner = Runner(app=app, session_service=self.sessions, auto_create_session=True)

    async def say(self, message: str | types.Content) -> list[Event]:
        if isinstance(message, str):
            message = types.UserContent(message)
        run = self.runner.run_async(user_id="aiko", session_id="s-1", new_message=message)
        return [event async for event in run]

    async def chat(self, turns: int) -> None:
        for number in range(turns):
            await self.say(f"Small talk {number}.")

    async def loaded(self) -> list[Event]:
        """What the Runner would load now."""
        session = await self.sessions.get_session(**HERE, config=None)
        assert session is not None
        return session.events


def waiting(events: list[Event]) -> types.FunctionCall:
    [found] = [
        each
        for event in events
        for each in event.get_function_calls()
        if each.id in (event.long_running_tool_ids or ())
    ]
    return found


def words(events: list[Event]) -> str:
    parts = [part for event in events if event.content for part in event.content.parts or []]
    return " ".join(part.text for part in parts if part.text)


@pytest.mark.parametrize("retention", [Retention(), Retention(turns=10)], ids=["kept", "trimmed"])
async def test_a_long_running_call_is_answered_sixty_turns_later_by_another_process(
    open_service: Open, retention: Retention
) -> None:
    llm = ScriptedLlm().on("generator", call("approve", what="restart"), "Noted.")
    shop = Shop(open_service, llm, retention=retention)
    asked = waiting(await shop.say("Restart db-01."))
    await shop.chat(LATER)
    shop.begin_again()
    answered = await shop.say(result_of(asked, {"approved": True}))
    assert words(answered) == "Noted."
    request = llm.requests[-1]
    parts = [part for content in request.contents for part in content.parts or []]
    assert [part.function_call.name for part in parts if part.function_call] == ["approve"]
    responses = [part.function_response for part in parts if part.function_response]
    assert [response.response for response in responses] == [{"approved": True}]


@pytest.mark.parametrize("retention", [Retention(), Retention(turns=10)], ids=["kept", "trimmed"])
async def test_a_tool_is_confirmed_sixty_turns_later_by_another_process(
    open_service: Open, retention: Retention
) -> None:
    llm = ScriptedLlm().on("generator", call("restart", server="db-01"), "Noted.")
    shop = Shop(open_service, llm, retention=retention)
    asked = waiting(await shop.say("Restart db-01."))
    await shop.chat(LATER)
    shop.begin_again()
    answered = await shop.say(result_of(asked, {"confirmed": True}))
    results = [each.response for event in answered for each in event.get_function_responses()]
    assert results == [{"restarted": "db-01"}]


@pytest.mark.filterwarnings("ignore:.*ResumabilityConfig:UserWarning")  # ADK: experimental.
async def test_a_resumable_app_finds_the_invocation_of_its_call(open_service: Open) -> None:
    llm = ScriptedLlm().on("generator", call("approve", what="restart"), "Noted.")
    shop = Shop(open_service, llm)
    shop.resumable = True
    shop.begin_again()
    first = await shop.say("Restart db-01.")
    await shop.chat(3)
    shop.begin_again()
    answered = await shop.say(result_of(waiting(first), {"approved": True}))
    assert {event.invocation_id for event in answered} == {first[0].invocation_id}
    assert words(answered) == "Noted."


@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.filterwarnings("ignore:.*ResumabilityConfig:UserWarning")  # ADK: experimental.
async def test_under_the_plugin_a_late_answer_is_a_new_turn_with_a_tools_authority(
    open_service: Open, resumable: bool
) -> None:
    llm = ScriptedLlm().on("generator", call("approve", what="restart"), "Noted.")
    container = build_container(Settings(store="memory", learning="off"))
    shop = Shop(open_service, llm)
    shop.resumable = resumable
    memory = dict.fromkeys(MODEL_ROLES, ScriptedLlm())
    shop.plugins = [BoundedMemoryPlugin(container, models=memory)]
    shop.begin_again()
    asked = waiting(await shop.say("Restart db-01."))
    await shop.chat(3)
    shop.begin_again()
    note = {"approved": True, "note": "From now on never ask me again."}
    assert words(await shop.say(result_of(asked, note))) == "Noted."
    shown = [part.text or "" for each in llm.requests[-1].contents for part in each.parts or []]
    assert "Small talk" not in unquoted("\n".join(shown))


async def test_an_answered_turn_is_no_longer_loaded(open_service: Open) -> None:
    llm = ScriptedLlm().on("generator", call("approve", what="restart"), "Noted.")
    shop = Shop(open_service, llm)
    asked = waiting(await shop.say("Restart db-01."))
    await shop.chat(1)
    assert words(await shop.loaded()) == "Restart db-01. Small talk 0. Noted."
    await shop.say(result_of(asked, {"approved": True}))
    await shop.chat(1)
    assert words(await shop.loaded()) == "Small talk 0. Noted."


async def test_a_note_of_the_tool_itself_does_not_end_the_waiting(open_service: Open) -> None:
    llm = ScriptedLlm().on("generator", call("file_ticket", what="disk"), "Filed.", "Noted.")
    shop = Shop(open_service, llm)
    first = await shop.say("We need a disk.")
    [asked] = [each for event in first for each in event.get_function_calls()]
    await shop.chat(3)
    shop.begin_again()
    assert words(await shop.say(result_of(asked, {"status": "done"}))) == "Noted."


async def test_an_answer_whose_run_failed_can_be_sent_again(open_service: Open) -> None:
    llm = ScriptedLlm().on(
        "generator", call("approve", what="restart"), "Noted.", ValueError("down"), "Restarted."
    )
    shop = Shop(open_service, llm)
    asked = waiting(await shop.say("Restart db-01."))
    await shop.chat(1)
    with pytest.raises(ValueError, match="down"):
        await shop.say(result_of(asked, {"approved": True}))
    shop.begin_again()
    assert words(await shop.say(result_of(asked, {"approved": True}))) == "Restarted."


async def test_a_turn_is_not_cut_while_the_answer_to_its_call_is_kept(open_service: Open) -> None:
    llm = ScriptedLlm().on("generator", call("approve", what="restart"), "Noted.")
    shop = Shop(open_service, llm, retention=Retention(turns=4))
    asked = waiting(await shop.say("Restart db-01."))
    await shop.chat(10)
    await shop.say(result_of(asked, {"approved": True}))

    async def pairs() -> tuple[int, int]:
        session = await shop.sessions.get_session(**HERE)
        assert session is not None
        calls = [each for event in session.events for each in event.get_function_calls()]
        results = [each for event in session.events for each in event.get_function_responses()]
        return len(calls), len(results)

    for _ in range(12):
        calls, results = await pairs()
        assert calls == results
        await shop.chat(1)
    assert await pairs() == (0, 0)


async def test_calls_that_nobody_ever_answers_are_bounded(
    open_service: Open, caplog: pytest.LogCaptureFixture
) -> None:
    llm = ScriptedLlm().on("generator", lambda _: call("approve", what="restart"))
    shop = Shop(open_service, llm)
    with caplog.at_level(logging.WARNING):
        for number in range(OPEN_CALLS + 3):
            await shop.say(f"Restart {number}.")
    texts = [event for event in await shop.loaded() if event.author == "user"]
    assert len(texts) == OPEN_CALLS
    assert words(texts[:1]) == "Restart 3."
    assert caplog.text.count("waiting_calls_forgotten session=s-1 count=1") == 3


async def test_waiting_calls_go_with_their_session(open_service: Open) -> None:
    llm = ScriptedLlm().on("generator", call("approve", what="restart"), "Noted.")
    shop = Shop(open_service, llm)
    await shop.say("Restart db-01.")
    await shop.sessions.delete_session(**HERE)
    await shop.sessions.create_session(**HERE)
    assert await shop.loaded() == []


async def test_a_caller_that_names_a_window_gets_that_window(open_service: Open) -> None:
    llm = ScriptedLlm().on("generator", call("approve", what="restart"), "Noted.")
    shop = Shop(open_service, llm)
    await shop.say("Restart db-01.")
    session = await shop.sessions.get_session(**HERE, config=GetSessionConfig(num_recent_events=0))
    assert session is not None
    assert session.events == []


async def test_a_tool_of_our_own_app_is_confirmed_later_by_another_process(
    open_service: Open,
) -> None:
    answer = {"reasoning": [], "bullet_ids": [], "final_answer": "Noted."}
    llm = ScriptedLlm().on("generator", call("restart_server", server="db-01"), answer)
    tools = ("tests.fakes.confirmed_tool:restart_server",)
    container = build_container(Settings(store="memory", learning="off", tools=tools))
    key = SessionKey(APP_NAME, "aiko", "s-1")

    async def say(message: types.Content) -> list[Event]:
        # A runner and a service of its own for each message, as when processes take turns.
        app = build_app(container, dict.fromkeys(ROLES, llm))
        runner = Runner(app=app, session_service=open_service(), auto_create_session=True)
        run = runner.run_async(user_id=key.user, session_id=key.session, new_message=message)
        return [event async for event in run]

    asked = waiting(await say(types.UserContent("Restart db-01. No restarts on Sundays.")))
    for number in range(5):
        await say(types.UserContent(f"Small talk {number}."))
    answered = await say(result_of(asked, {"confirmed": True}))
    results = [each.response for event in answered for each in event.get_function_responses()]
    assert results == [{"restarted": "db-01"}]
    assert words(answered).endswith("Noted.")
    last = await container.evidence.last(key)
    assert last is not None
    assert [result.result for result in last.tool_results] == ['{"restarted": "db-01"}']
    assert last.input.authority is Authority.TOOL
    head = await container.journal.head(key)
    assert head is not None
    assert head.state.ccs.constraints == ["No restarts on Sundays."]
