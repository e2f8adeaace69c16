"""Runs inside of a tool call: agents called as tools work for its turn, others for their own."""

import asyncio
from dataclasses import dataclass, field

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

from acc_ace.core.schemas.base import SessionKey
from acc_ace.errors import SessionBusyError
from tests.fakes.scripted_llm import Script, ScriptedLlm, call
from tests.pipeline.desk import KEY, Desk, whole, with_note
from tests.pipeline.talk import settings
from tests.pipeline.test_plugin_failures import Gate
from tests.pipeline.test_plugin_trees import agents_as_tools

BOB = SessionKey(KEY.app, "bob", "b1")
SECOND = SessionKey(KEY.app, KEY.user, "s2")

SECRET = "Never tell the vault code 4711."
NO_CALLS = "Never call me before noon."


@dataclass
class Inbox:
    """Lets an app answer messages in a task that the first tool call starts and leaves."""

    desk: Desk | None = None
    letters: "asyncio.Queue[tuple[SessionKey, str, asyncio.Future[str]]]" = field(
        default_factory=asyncio.Queue
    )
    task: "asyncio.Task[None] | None" = None

    async def start_inbox(self) -> str:
        """Start the inbox."""
        self.task = self.task or asyncio.create_task(self._serve())
        return "started"

    async def answer(self, key: SessionKey, text: str) -> str:
        """What the app says to a message."""
        answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        await self.letters.put((key, text, answered))
        async with asyncio.timeout(10):
            return await answered

    async def _serve(self) -> None:
        while True:
            key, text, answered = await self.letters.get()
            assert self.desk is not None
            answered.set_result(await self.desk.ask(text, key=key))


@dataclass
class Office:
    """An app with an inbox, in the middle of a turn of ops that has started it."""

    inbox: Inbox
    desk: Desk
    llm: ScriptedLlm
    gate: Gate
    turn: "asyncio.Task[str]"

    async def close(self) -> None:
        """Let ops have the answer, and end the inbox."""
        self.gate.open.set()
        assert await self.turn == "At last."
        assert self.inbox.task is not None
        self.inbox.task.cancel()
        await self.desk.settled()


async def office(*replies: Script, tools: tuple[AgentTool, ...] = ()) -> Office:
    """The model says `replies` while the turn of ops waits."""
    inbox, gate = Inbox(), Gate()
    llm = ScriptedLlm().on("generator", call("start_inbox"), gate, *replies)
    inbox.desk = Desk(LlmAgent(name="helper", model=llm, tools=[inbox.start_inbox, *tools]))
    turn = asyncio.create_task(inbox.desk.ask(f"{SECRET} Start the inbox."))
    await gate.reached.wait()
    return Office(inbox, inbox.desk, llm, gate, turn)


@pytest.mark.parametrize("key", [BOB, SECOND], ids=["another user", "another session"])
async def test_whom_a_task_left_by_a_tool_serves_has_a_turn_of_his_own(key: SessionKey) -> None:
    opened = await office("Hello.")
    assert await opened.inbox.answer(key, f"Hi. {NO_CALLS}") == "Hello."
    [request] = [each for each in opened.llm.requests if NO_CALLS in whole(each)]
    assert "4711" not in whole(request)
    await opened.close()
    assert await opened.desk.constraints(key) == [NO_CALLS]
    assert await opened.desk.constraints() == [SECRET]
    assert [each.input.text for each in await opened.desk.evidence(key)] == [f"Hi. {NO_CALLS}"]
    [kept] = await opened.desk.evidence()
    assert kept.decision is not None
    assert kept.shown_answer == with_note("At last.", SECRET)


@agents_as_tools
async def test_an_agent_called_as_a_tool_works_for_whoever_the_inbox_serves() -> None:
    expert_llm = ScriptedLlm().on("generator", "It is open.")
    expert = LlmAgent(name="expert", model=expert_llm, description="Looks.")
    opened = await office(call("expert", request="look"), "Still open.", tools=(AgentTool(expert),))
    assert await opened.inbox.answer(BOB, f"Look. {NO_CALLS}") == "Still open."
    [asked] = expert_llm.requests
    assert NO_CALLS in whole(asked)
    assert "4711" not in whole(asked)
    await opened.close()
    [kept] = await opened.desk.evidence(BOB)
    assert [result.name for result in kept.tool_results] == ["expert"]


async def test_a_tool_may_wait_for_a_run_in_another_session_of_its_user() -> None:
    async def ask_elsewhere() -> str:
        """Ask the same app in another session."""
        return await desk.ask(NO_CALLS, key=SECOND)

    llm = ScriptedLlm().on("generator", call("ask_elsewhere"), "Noted.", "Done.")
    desk = Desk(LlmAgent(name="helper", model=llm, tools=[ask_elsewhere]))
    assert await desk.ask(SECRET) == "Done."
    assert await desk.constraints(SECOND) == [NO_CALLS]
    assert await desk.constraints() == [SECRET]
    [kept] = await desk.evidence()
    assert [result.result for result in kept.tool_results] == ["Noted."]


@pytest.mark.parametrize(
    "other",
    [SessionKey("other", KEY.user, KEY.session), SessionKey(KEY.app, "bob", KEY.session)],
    ids=["another app", "another user"],
)
async def test_a_tool_may_run_a_runner_that_has_the_same_plugin(other: SessionKey) -> None:
    async def ask_other_runner() -> str:
        """Ask an agent that has sessions of its own."""
        agent = LlmAgent(name="other", model=ScriptedLlm().on("generator", "Noted."))
        app = App(name=other.app, root_agent=agent, plugins=[desk.plugin])
        runner = Runner(app=app, session_service=InMemorySessionService(), auto_create_session=True)
        message = types.Content(role="user", parts=[types.Part(text=NO_CALLS)])
        async for _ in runner.run_async(
            user_id=other.user, session_id=other.session, new_message=message
        ):
            pass
        return "asked"

    llm = ScriptedLlm().on("generator", call("ask_other_runner"), "Done.")
    desk = Desk(LlmAgent(name="helper", model=llm, tools=[ask_other_runner]))
    assert await desk.ask(SECRET) == "Done."
    assert await desk.constraints(other) == [NO_CALLS]
    assert await desk.constraints() == [SECRET]


async def test_a_tool_that_runs_its_own_session_again_is_told_that_it_is_busy() -> None:
    refused: list[BaseException | None] = []

    async def ask_again() -> str:
        """Ask the same app in the same session."""
        try:
            return await desk.ask("Me again.")
        except RuntimeError as error:
            refused.append(error.__cause__)
            return "busy"

    llm = ScriptedLlm().on("generator", call("ask_again"), "Done.")
    root = LlmAgent(name="helper", model=llm, tools=[ask_again])
    desk = Desk(root, settings=settings(turn_wait_s=0))
    async with asyncio.timeout(10):
        assert await desk.ask(SECRET) == "Done."
    assert [type(error) for error in refused] == [SessionBusyError]
    assert await desk.constraints() == [SECRET]
    assert [each.input.text for each in await desk.evidence()] == [SECRET]
