"""The stages of a turn keep their promises as a SequentialAgent of ADK and as its Workflow."""

import asyncio
import sys
from contextlib import aclosing
from typing import Final, Literal

import google.adk.agents
import pytest
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.cli.agent_graph import get_agent_graph
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.genai import types

from acc_ace.errors import ConfigError, ModelUnavailable
from acc_ace.pipeline import build_app, build_pipeline
from config import ROLES, Settings
from schemas.report import AnswerChunk, TurnDone, TurnPaused
from tests.fakes.scripted_llm import Reply, call
from tests.pipeline.talk import KEY, Talk, seen

RULE: Final = "Never restart db-01 during business hours."
ANSWER: Final = {"final_answer": "One two three four five six seven eight nine."}
STAGES: Final = ("state_initializer", "recaller", "qualifier", "compressor", "generator")
TOOL: Final = "tests.fakes.confirmed_tool:restart_server"


@pytest.fixture(params=["sequential", "workflow"])
def talk(request: pytest.FixtureRequest) -> Talk:
    chosen: Literal["sequential", "workflow"] = request.param
    return Talk(Settings(store="memory", pipeline=chosen, tools=(TOOL,)))


def runner(talk: Talk) -> Runner:
    """ADK's own runner of the app, over the sessions of the conversation."""
    app = build_app(talk.container, dict.fromkeys(ROLES, talk.llm))
    return Runner(app=app, session_service=talk.sessions, auto_create_session=True)


async def versions(talk: Talk) -> list[int]:
    return [entry.state.version for entry in await talk.conversation.history(KEY)]


async def test_adk_web_draws_the_five_stages(talk: Talk) -> None:
    models = dict.fromkeys(ROLES, talk.llm)
    graph = await get_agent_graph(build_pipeline(talk.container, models), [])
    assert not isinstance(graph, bytes)
    drawn = dict.fromkeys(line.split()[0] for line in graph.source.splitlines() if line.strip())
    assert [name for name in drawn if name in STAGES] == [*STAGES]


async def test_a_turn_is_committed_once_and_learned_from(talk: Talk) -> None:
    report = await talk.say("Look at db-01.")
    assert await versions(talk) == [1]
    [kept] = await talk.container.evidence.list(KEY)
    assert kept.decision is not None
    assert kept.decision.final_answer in report.answer
    assert talk.llm.roles == ["compressor", "generator", "reflector", "curator"]


async def test_the_session_holds_the_message_and_the_answer_alone(talk: Talk) -> None:
    await talk.say("Look at db-01.")
    session = await talk.sessions.get_session(
        app_name=KEY.app, user_id=KEY.user, session_id=KEY.session
    )
    assert session is not None
    spoken = [event for event in session.events if event.content]
    assert [event.author for event in spoken] == ["user", "generator"]
    assert {event.error_code for event in session.events} == {None}


async def test_a_rule_is_kept_while_the_talk_goes_on(talk: Talk) -> None:
    await talk.say(RULE)
    for number in range(5):
        await talk.say(f"Small talk {number}.")
    assert await talk.constraints() == [RULE]
    assert RULE in seen(talk.llm.requests_of("generator")[-1])


async def test_a_tool_is_called_and_its_result_is_evidence(talk: Talk) -> None:
    talk.llm.on("generator", call("calculate", expression="6*7"), ANSWER)
    report = await talk.say("What is 6*7?")
    assert [tool["name"] for tool in report.tool_calls] == ["calculate"]
    assert "42" in seen(talk.llm.requests_of("generator")[-1])


@pytest.mark.parametrize("confirmed", [True, False])
async def test_a_person_confirms_a_call_and_the_turn_goes_on(talk: Talk, confirmed: bool) -> None:
    talk.llm.on("generator", call("restart_server", server="db-01"), ANSWER)
    *_, paused = await talk.events("Restart db-01. No restarts on Sundays.")
    assert isinstance(paused, TurnPaused)
    assert (await versions(talk), talk.llm.roles.count("reflector")) == ([1], 0)
    [waiting] = paused.calls
    *_, done = [each async for each in talk.conversation.confirm(KEY, {waiting.id: confirmed})]
    assert isinstance(done, TurnDone)
    assert done.report.answer.startswith("One two three")
    [result] = [each for each in done.report.tool_calls if each["name"] == "restart_server"]
    assert result["args"] == {"server": "db-01"}
    last = await talk.container.evidence.last(KEY)
    assert last is not None
    assert ['{"restarted": "db-01"}' in each.result for each in last.tool_results] == [confirmed]
    assert await talk.constraints() == ["No restarts on Sundays."]


async def test_the_answer_streams_before_learning_begins(talk: Talk) -> None:
    talk.llm.on("generator", ANSWER)
    events = await talk.events("Count.")
    chunks = [event.text for event in events if isinstance(event, AnswerChunk)]
    assert len(chunks) > 1
    assert "".join(chunks) == ANSWER["final_answer"]
    kinds = [f"{event.type}:{getattr(event, 'stage', '')}" for event in events]
    assert kinds.index("answer:") < kinds.index("stage_started:reflector")


async def test_a_failure_discards_the_turn_and_is_raised_as_it_is(talk: Talk) -> None:
    await talk.say(RULE)
    before = await talk.session_state()
    failure = ModelUnavailable("generator: no network")
    talk.llm.on("generator", failure, ANSWER)
    with pytest.raises(ModelUnavailable) as raised:
        await talk.say("Hi.")
    assert raised.value is failure
    assert (await versions(talk), await talk.session_state()) == ([1], before)
    await talk.say("Hello again.")
    assert await talk.constraints() == [RULE]


async def test_who_leaves_while_the_answer_grows_leaves_no_turn(talk: Talk) -> None:
    talk.llm.on("generator", ANSWER)
    streamed = runner(talk).run_async(
        user_id=KEY.user,
        session_id=KEY.session,
        new_message=types.UserContent("Count."),
        run_config=RunConfig(streaming_mode=StreamingMode.SSE),
    )
    async with aclosing(streamed) as events:
        async for event in events:
            if event.partial:
                break
        await asyncio.sleep(0.05)  # Who writes ahead of the reader would be done by now.
    async with talk.container.lock.hold(KEY, wait_s=30):
        assert await versions(talk) == []


async def test_a_cancelled_turn_leaves_the_state_before_it(talk: Talk) -> None:
    reached = asyncio.Event()

    async def hang(_: LlmRequest) -> Reply:
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    talk.llm.on("compressor", hang)
    turn = asyncio.create_task(talk.say("Hi."))
    await reached.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    async with talk.container.lock.hold(KEY, wait_s=30):
        assert await versions(talk) == []


@pytest.fixture
def without_sequential_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ADK that has removed it."""
    monkeypatch.setitem(sys.modules, "google.adk.agents.sequential_agent", None)
    monkeypatch.delitem(vars(google.adk.agents), "SequentialAgent", raising=False)


@pytest.mark.usefixtures("without_sequential_agent")
async def test_an_adk_without_sequential_agent_takes_a_change_of_the_setting() -> None:
    talk = Talk(Settings(store="memory", pipeline="workflow"))
    await talk.say(RULE)
    assert await talk.constraints() == [RULE]
    with pytest.raises(ConfigError, match="ACC_ACE_PIPELINE=workflow"):
        Talk(Settings(store="memory"))
