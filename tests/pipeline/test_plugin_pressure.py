"""A turn under the plugin counts among those that learning steps back for, while it is open."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.agent_tool import AgentTool

from acc_ace.errors import ModelUnavailable
from tests.fakes.scripted_llm import Script, ScriptedLlm, call
from tests.pipeline.desk import KEY, Desk
from tests.pipeline.test_leaving_at_the_answer import until_answered
from tests.pipeline.test_plugin_failures import Gate
from tests.pipeline.test_plugin_trees import agents_as_tools


def desk_of(llm: ScriptedLlm) -> Desk:
    return Desk(LlmAgent(name="helper", model=llm))


def counted(desk: Desk) -> int:
    return desk.container.pressure.turns


async def answered(desk: Desk) -> None:
    assert await desk.ask("Hello.") == "Hi."


async def left_at_the_answer(desk: Desk) -> None:
    assert await until_answered(desk.run("Hello.")) == "Hi."


async def refused(desk: Desk) -> None:
    with pytest.raises(RuntimeError, match="input is empty"):
        await desk.ask(" ")


async def failed(desk: Desk) -> None:
    with pytest.raises(ModelUnavailable):
        await desk.ask("Hello.")


async def test_turns_are_counted_while_they_are_answered() -> None:
    both = asyncio.Event()
    seen: list[int] = []

    async def reply(_: LlmRequest) -> str:
        seen.append(counted(desk))
        if len(seen) == 2:
            both.set()
        await both.wait()
        seen.append(counted(desk))
        return "Hi."

    desk = desk_of(ScriptedLlm().on("generator", reply))
    async with asyncio.timeout(10):
        await asyncio.gather(desk.ask("Hello."), desk.ask("Hello.", key=KEY._replace(session="s2")))
    assert max(seen) == 2
    assert counted(desk) == 0


@pytest.mark.parametrize(
    ("ends", "reply"),
    [
        (answered, "Hi."),
        (left_at_the_answer, "Hi."),
        (refused, "Hi."),
        (failed, ModelUnavailable("no network")),
    ],
    ids=["answered", "left at the answer", "refused", "failed"],
)
async def test_however_a_turn_ends_it_is_counted_no_more(
    ends: Callable[[Desk], Awaitable[None]], reply: Script
) -> None:
    desk = desk_of(ScriptedLlm().on("generator", reply))
    await ends(desk)
    await desk.settled()
    assert counted(desk) == 0


async def test_a_cancelled_turn_is_counted_no_more() -> None:
    gate = Gate()
    desk = desk_of(ScriptedLlm().on("generator", gate))
    running = asyncio.create_task(desk.ask("Hello."))
    await gate.reached.wait()
    assert counted(desk) == 1
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await desk.settled()
    assert counted(desk) == 0


@agents_as_tools
async def test_an_agent_called_as_a_tool_counts_with_the_turn_it_works_for() -> None:
    seen: list[int] = []

    def reply(_: LlmRequest) -> str:
        seen.append(counted(desk))
        return "It is open."

    expert = LlmAgent(name="expert", model=ScriptedLlm().on("generator", reply))
    boss = ScriptedLlm().on("generator", call("expert", request="look"), "Still open.")
    desk = Desk(LlmAgent(name="boss", model=boss, tools=[AgentTool(expert)]))
    await desk.ask("Look.")
    assert seen == [1]
    assert counted(desk) == 0
