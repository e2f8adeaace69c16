"""A model that gives its tool calls the same ids: each call keeps its own result, and counts."""

import re
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

from acc_ace.adk.sessions.create_session_service import open_session_service
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.desk import Desk, result_of
from tests.pipeline.talk import Talk, settings

ANSWER = {"final_answer": "done"}
Loop = list[tuple[str, str]]


def named(name: str, *args: dict[str, Any], ids: Sequence[str] = ()) -> types.Content:
    """A reply that calls one tool with each of `args`; every call is call_0."""
    calls = [
        types.FunctionCall(id=call_id, name=name, args=given)
        for given, call_id in zip(args, ids or ["call_0"] * len(args), strict=True)
    ]
    return types.Content(role="model", parts=[types.Part(function_call=call) for call in calls])


def adds(*numbers: int) -> types.Content:
    return named("calculate", *[{"expression": f"{number}+{number}"} for number in numbers])


def loop_of(request: LlmRequest) -> Loop:
    """Each call of a request with its own result, in order; their ids are all different."""
    parts = [part for content in request.contents for part in content.parts or []]
    calls = [part.function_call for part in parts if part.function_call]
    replies = [part.function_response for part in parts if part.function_response]
    assert len({call.id for call in calls}) == len(calls)
    assert sorted(str(call.id) for call in calls) == sorted(str(reply.id) for reply in replies)
    results = {reply.id: reply.response for reply in replies}
    return [(str(call.args), str(results[call.id])) for call in calls]


async def test_each_call_is_shown_its_own_result_in_its_turn_and_in_no_later_one() -> None:
    talk = Talk(settings=Settings(store="memory"))
    talk.llm.on("generator", adds(1, 20), adds(300), ANSWER, adds(4000), ANSWER)
    await talk.say("Calculate.")
    await talk.say("And now?")
    first, _, second, third, fourth = (
        loop_of(request) for request in talk.llm.requests_of("generator")
    )
    assert (first, [len(second), len(third), len(fourth)]) == ([], [3, 0, 1])
    for args, result in [*second, *third, *fourth]:
        number = int(args.split("+")[1].strip("'}"))
        assert f'"value": {2 * number}' in result or f"'value': {2 * number}" in result


async def test_forty_calls_of_one_id_are_forty_calls() -> None:
    talk = Talk(settings(tool_calls=3))
    talk.llm.on("generator", adds(*range(40)), ANSWER)
    await talk.say("Go.")
    [kept] = await talk.container.evidence.list(talk.key)
    assert len(kept.tool_calls) == len({call.id for call in kept.tool_calls}) == 40
    assert [result.is_error for result in kept.tool_results] == [False] * 3 + [True] * 37


def look(host: str) -> dict[str, str]:
    """Look at a host.

    Args:
        host: Its name.
    """
    return {"seen": f"{host} is up"}


def approve(what: str) -> None:
    """Ask a person to approve.

    Args:
        what: What is to be approved.
    """


def looks(*hosts: str) -> types.Content:
    return named("look", *[{"host": host} for host in hosts])


@pytest.mark.parametrize("stream", [False, True])
async def test_an_agent_under_the_plugin_sees_and_keeps_each_calls_own_result(
    stream: bool,
) -> None:
    llm = ScriptedLlm().on("generator", looks("a", "b"), looks("c"), "All up.")
    app = Desk(LlmAgent(name="ops", model=llm, tools=[look]))
    assert await app.ask("Look at all.", stream=stream) == "All up."
    shown = loop_of(llm.requests[-1])
    assert shown == [(f"{{'host': '{h}'}}", f"{{'seen': '{h} is up'}}") for h in "abc"]
    [kept] = await app.evidence()
    results = {result.tool_call_id: result.result for result in kept.tool_results}
    assert [results[call.id] for call in kept.tool_calls] == [
        f'{{"seen": "{host} is up"}}' for host in "abc"
    ]


@pytest.mark.filterwarnings(
    # ADK's AgentTool itself hands its plugins on in the way that ADK deprecates.
    "ignore:The `plugins` argument is deprecated:DeprecationWarning"
)
async def test_agents_called_as_tools_keep_their_calls_apart_from_their_callers() -> None:
    expert = ScriptedLlm().on("generator", looks("a"), looks("b"), "Both up.")
    tool: BaseTool = AgentTool(LlmAgent(name="expert", model=expert, tools=[look]))
    asks = named("expert", {"request": "a and b"})
    boss = ScriptedLlm().on("generator", asks, looks("c"), "All up.")
    app = Desk(LlmAgent(name="boss", model=boss, tools=[tool, look]))
    assert await app.ask("Look at all.") == "All up."
    [kept] = await app.evidence()
    assert len({call.id for call in kept.tool_calls}) == 4
    results = {result.tool_call_id: result.result for result in kept.tool_results}
    asked = [call for call in kept.tool_calls if call.name == "look"]
    assert all(f"{call.args['host']} is up" in results[call.id] for call in asked)


async def test_an_answer_goes_to_the_call_that_waits_and_not_to_a_later_one_of_its_id() -> None:
    llm = ScriptedLlm().on(
        "generator",
        named("approve", {"what": "restart"}),
        named("approve", {"what": "reboot"}),
        "Restarted.",
    )
    app = Desk(LlmAgent(name="ops", model=llm, tools=[LongRunningFunctionTool(approve)]))
    waiting = [
        found
        for text in ("Restart db-01.", "Reboot db-02.")
        for event in await app.say(text)
        for found in event.get_function_calls()
    ]
    assert [call.args for call in waiting] == [{"what": "restart"}, {"what": "reboot"}]
    assert await app.ask(result_of(waiting[0], {"approved": True})) == "Restarted."
    shown = loop_of(llm.requests[-1])
    assert shown == [("{'what': 'restart'}", "{'approved': True}")]


async def test_two_calls_that_wait_never_share_an_id_though_no_old_event_is_loaded(
    tmp_path: Path,
) -> None:
    llm = ScriptedLlm().on(
        "generator",
        named("approve", {"what": "restart"}),
        "Restarted.",
        named("approve", {"what": "reboot"}),
        "Rebooted.",
    )
    desk_settings = Settings(data_dir=tmp_path, learning="off")
    container = build_container(desk_settings)
    root = LlmAgent(name="ops", model=llm, tools=[LongRunningFunctionTool(approve)])
    sessions = open_session_service(container)
    app = Desk(root, desk_settings, sessions=sessions)
    asked: list[types.FunctionCall] = []
    for text, answer in (("Restart db-01.", "Restarted."), ("Reboot db-02.", "Rebooted.")):
        asked += [call for event in await app.say(text) for call in event.get_function_calls()]
        assert await app.ask(result_of(asked[-1], {"approved": True})) == answer
    assert len({call.id for call in asked}) == len(asked) == 2
    assert isinstance(sessions, SqlSessionService)
    await sessions.close()
    await app.container.close()
    await container.close()


class PieceLlm(BaseLlm):
    """Streams each call before the whole reply, as ADK's Anthropic model does, and counts ids."""

    model: str = "pieces"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Ask once, then be done."""
        asked = named("approve", {"what": "restart"}, {"what": "reboot"}, ids=["call_0", "call_1"])
        replied = any(part.function_response for part in llm_request.contents[-1].parts or [])
        content = types.ModelContent("Done.") if replied else asked
        for part in content.parts or []:
            yield LlmResponse(content=types.Content(role="model", parts=[part]), partial=True)
        yield LlmResponse(content=content, partial=False)


async def test_a_call_that_is_streamed_has_the_id_of_the_whole_reply() -> None:
    root = LlmAgent(name="ops", model=PieceLlm(), tools=[LongRunningFunctionTool(approve)])
    app = Desk(root)
    events = [event async for event in app.run("Go.", stream=True)]
    streamed, whole = (
        [
            call
            for event in events
            if event.partial is partial
            for call in event.get_function_calls()
        ]
        for partial in (True, False)
    )
    assert [call.id for call in streamed] == [call.id for call in whole]
    assert len({call.id for call in whole}) == 2
    assert await app.ask(result_of(streamed[1], {"approved": True})) == "Done."


async def test_what_stands_before_a_counted_number_is_shown_to_the_model_again() -> None:
    llm = ScriptedLlm().on(
        "generator",
        named("look", {"host": "a"}, ids=["functions.look:0"]),
        named("look", {"host": "b"}, ids=["functions.look:0"]),
        "Both up.",
    )
    app = Desk(LlmAgent(name="ops", model=llm, tools=[look]))
    assert await app.ask("Look at both.") == "Both up."
    parts = [part for content in llm.requests[-1].contents for part in content.parts or []]
    names = [str(part.function_call.id) for part in parts if part.function_call]
    assert len(set(names)) == 2
    assert all(re.fullmatch(r"functions\.look:[0-9]{18}", name) for name in names)
