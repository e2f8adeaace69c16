"""Notes on rules: once, below the last answer of a run, and in nothing that a program reads."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.events import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.workflow import START, Workflow
from google.genai import types
from pydantic import BaseModel

from acc_ace import build_container
from acc_ace.adk.sessions.create_session_service import open_session_service
from config import Settings
from schemas.base import SessionKey
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.pipeline.desk import KEY, Desk, result_of, text_of, whole, with_note

BAN = "No restarts on Sundays."
NOTE = with_note("", BAN)


def agent(name: str, *replies: Any, **options: Any) -> LlmAgent:
    model = ScriptedLlm().on("generator", *replies)
    return LlmAgent(name=name, model=model, instruction="Do your part.", **options)


def sequential(first: BaseAgent, last: BaseAgent) -> BaseAgent:
    return SequentialAgent(name="row", sub_agents=[first, last])


def loop(first: BaseAgent, last: BaseAgent) -> BaseAgent:
    return LoopAgent(name="loop", max_iterations=1, sub_agents=[first, last])


def fan(first: BaseAgent, last: BaseAgent) -> BaseAgent:
    par = ParallelAgent(name="fan", sub_agents=[first])
    return SequentialAgent(name="row", sub_agents=[par, last])


def nested(first: BaseAgent, last: BaseAgent) -> BaseAgent:
    inner = SequentialAgent(name="inner", sub_agents=[last])
    return SequentialAgent(name="row", sub_agents=[first, inner])


def flow(first: BaseAgent, last: BaseAgent) -> Workflow:
    return Workflow(name="flow", edges=[(START, first, last)])


Tree = Callable[[BaseAgent, BaseAgent], Any]
TREES: list[Tree] = [sequential, loop, fan, nested, flow]


def built(tree: Tree, first: BaseAgent, last: BaseAgent) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return tree(first, last)


def notes_of(event: Event) -> list[str]:
    metadata: dict[str, Any] = (event.custom_metadata or {}).get("acc_ace", {})
    notes: list[str] = metadata.get("notes", [])
    return notes


def shown(events: list[Event]) -> str:
    """What a client shows that takes whole events."""
    return "".join(text_of(event) for event in events if not event.partial)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("tree", TREES)
async def test_notes_stand_once_below_the_last_answer_of_a_run(tree: Tree, *, stream: bool) -> None:
    writer, editor = agent("writer", "A draft."), agent("editor", "The final text.")
    app = Desk(built(tree, writer, editor))
    events = await app.say(BAN, stream=stream)
    assert shown(events) == "A draft.The final text." + NOTE
    assert next(event.author for event in events if NOTE in text_of(event)) == "editor"
    assert app.reports[-1].notes == [NOTE.strip()]
    assert app.reports[-1].answer == "A draft.\n\nThe final text." + NOTE
    assert isinstance(editor.model, ScriptedLlm)
    assert "/forget" not in whole(editor.model.requests[-1])
    [turn] = await app.evidence()
    assert turn.decision is not None
    assert turn.decision.final_answer == "A draft.\n\nThe final text."
    await app.say("Hello.")
    for each in (writer, editor):
        assert isinstance(each.model, ScriptedLlm)
        assert "/forget" not in whole(each.model.requests[-1])


async def test_an_agent_that_takes_over_shows_the_notes() -> None:
    clerk = agent("clerk", "It is paid.", description="Knows invoices.")
    boss = agent("boss", call("transfer_to_agent", agent_name="clerk"), sub_agents=[clerk])
    assert shown(await Desk(boss).say(BAN)) == "It is paid." + NOTE


@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")
async def test_an_agent_called_as_a_tool_says_no_notes() -> None:
    expert = agent("expert", "It is open.", description="Looks.")
    boss = agent("boss", call("expert", request="look"), "Still open.", tools=[AgentTool(expert)])
    app = Desk(boss)
    assert shown(await app.say(BAN)) == "Still open." + NOTE
    [turn] = await app.evidence()
    assert [result.result for result in turn.tool_results] == ["It is open."]


async def test_with_metadata_notes_are_in_no_text() -> None:
    app = Desk(agent("desk", "All right."), notes="metadata")
    events = await app.say(BAN, stream=True)
    assert "/forget" not in "".join(map(text_of, events))
    assert notes_of(events[-1]) == [NOTE.strip()]
    report = app.reports[-1]
    assert (report.answer, report.notes) == ("All right.", [NOTE.strip()])


class Verdict(BaseModel):
    """An answer for a program."""

    reply: str


DATA = [
    '{"reply": "ok"}',
    "[1, 2]",
    '```json\n{"reply": "ok"}\n```',
    "<answer><text>ok</text></answer>",
    "URGENT",
    "42",
    "not_spam",
    "name,age\nAda,36",
    "reply: ok\nscore: 3",
    "def add(a, b):\n    return a + b",
    "SELECT * FROM users;",
]
PROSE = [
    "ok",
    "Done.",
    "All right",
    "Let me know.",
    "From now on, I ask first.",
    "[1] says so, and I keep it.",
    "Status: kept.\nAll is well.",
    "We have 1,000 of them.\nThat is all.",
    "承知しました",
    "了解です。",
]


@pytest.mark.parametrize("answer", DATA)
async def test_an_answer_that_a_program_reads_stays_as_it_is(answer: str) -> None:
    app = Desk(agent("desk", answer))
    events = await app.say(BAN)
    assert shown(events) == answer
    assert notes_of(events[-1]) == app.reports[-1].notes == [NOTE.strip()]


@pytest.mark.parametrize("answer", PROSE)
async def test_an_answer_that_a_person_reads_has_the_notes_below_it(answer: str) -> None:
    assert shown(await Desk(agent("desk", answer)).say(BAN)) == answer + NOTE


async def test_an_answer_in_a_schema_has_no_notes() -> None:
    events = await Desk(agent("desk", output_schema=Verdict)).say(BAN)
    assert json.loads(shown(events))
    assert notes_of(events[-1]) == [NOTE.strip()]


async def test_a_draft_in_json_keeps_no_notes_from_the_answer_after_it() -> None:
    app = Desk(built(sequential, agent("writer", '{"a": 1}'), agent("editor", "Fine.")))
    assert shown(await app.say(BAN)) == '{"a": 1}Fine.' + NOTE


async def test_an_answer_over_a2a_has_no_notes() -> None:
    key = SessionKey("desk", "A2A_USER_c1", "c1")
    assert shown(await Desk(agent("desk", "All right.")).say(BAN, key=key)) == "All right."


async def test_whoever_reads_only_the_chunks_sees_what_the_whole_answer_shows() -> None:
    events = await Desk(agent("desk", "All right.")).say(BAN, stream=True)
    chunks = "".join(text_of(event) for event in events if event.partial)
    assert chunks == shown(events) == "All right." + NOTE


async def test_notes_replace_no_answer_that_has_only_thoughts() -> None:
    thought = types.Content(role="model", parts=[types.Part(text="Hm.", thought=True)])
    events = await Desk(agent("desk", thought)).say(BAN)
    assert "/forget" not in "".join(map(text_of, events))


async def test_a_turn_that_waited_for_a_person_shows_its_notes_with_its_answer() -> None:
    def approve(what: str) -> None:
        """Ask a person."""

    from google.adk.tools.long_running_tool import LongRunningFunctionTool  # noqa: PLC0415

    desk = agent(
        "desk", call("approve", what="it"), "Done.", tools=[LongRunningFunctionTool(approve)]
    )
    app = Desk(desk)
    events = await app.say(f"Restart. {BAN}")
    assert "/forget" not in shown(events)
    [waiting] = [each for event in events for each in event.get_function_calls()]
    assert shown(await app.say(result_of(waiting, {"ok": True}))).endswith("Done." + NOTE)


class Watcher(BasePlugin):
    """Notes which agents have ended."""

    def __init__(self) -> None:
        super().__init__(name="watcher")
        self.ended: list[str] = []

    async def after_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> types.Content | None:
        self.ended.append(agent.name)
        return None


@pytest.mark.parametrize("last_words", ["", "Goodbye."])
async def test_an_event_of_their_own_takes_no_callback_from_an_app(last_words: str) -> None:
    ended: list[str] = []

    async def after(callback_context: CallbackContext) -> types.Content | None:
        ended.append(callback_context.agent_name)
        said = types.Content(role="model", parts=[types.Part(text=last_words)])
        return said if last_words else None

    root = built(loop, agent("writer", "A draft."), agent("editor", "Final."))
    root.after_agent_callback = after
    watcher = Watcher()
    events = await Desk(root, others=(watcher,)).say(BAN)
    assert ended == ["loop"]
    assert watcher.ended == ["writer", "editor", "loop"]
    assert shown(events) == f"A draft.Final.{last_words}{NOTE}"


async def test_an_event_of_their_own_is_stored_with_the_session(tmp_path: Path) -> None:
    container = build_container(Settings(data_dir=tmp_path))
    sessions = open_session_service(container, forgets=True)
    root = built(loop, agent("writer", "A draft."), agent("editor", "Final."))
    app = Desk(root, sessions=sessions, over=container)
    await app.say(BAN)
    session = await sessions.get_session(app_name=KEY.app, user_id=KEY.user, session_id=KEY.session)
    assert session is not None
    assert [text_of(each) for each in session.events if each.author == "editor"] == ["Final.", NOTE]
    await app.settled()
