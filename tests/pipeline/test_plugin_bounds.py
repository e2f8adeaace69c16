"""What the plugin bounds or refuses in agents that others wrote: long tool results, agents called
as tools without it, tasks; and whose name its evidence bears."""

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.tool_context import ToolContext

from acc_ace.config import Settings
from acc_ace.errors import MemoryBypassedError
from tests.fakes.scripted_llm import ForbiddenLlm, ScriptedLlm, call
from tests.pipeline.desk import Desk, whole, with_note

BAN = "No restarts on Sundays."
LONG = "\n".join(f"line {number}: all is well" for number in range(2_000))


def bounded() -> Settings:
    return Settings(store="memory", limits={"tool_result_tokens": 64})


def read_log() -> str:
    """Read the log."""
    return LONG


async def test_a_long_tool_result_is_cut_for_the_model_and_kept_whole_as_evidence() -> None:
    llm = ScriptedLlm().on("generator", call("read_log"), "All is well.")
    app = Desk(LlmAgent(name="ops", model=llm, tools=[read_log]), settings=bounded())
    await app.ask("Is all well?")
    [shown] = [
        part.function_response.response
        for content in llm.requests[-1].contents
        for part in content.parts or []
        if part.function_response
    ]
    assert shown is not None
    assert shown["truncated"] is True
    assert shown["result"].endswith("…")
    assert len(shown["result"]) < 400
    [interaction] = await app.evidence()
    [result] = interaction.tool_results
    assert len(result.result) < 400
    assert result.whole is not None
    assert "line 1999: all is well" in result.whole
    assert "line 1999" not in "".join(whole(request) for request in app.memory.requests)


async def test_the_agents_own_callbacks_and_events_have_the_whole_result() -> None:
    seen: list[object] = []

    def after_tool(
        tool: object, args: dict[str, object], tool_context: ToolContext, tool_response: object
    ) -> None:
        seen.append(tool_response)

    llm = ScriptedLlm().on("generator", call("read_log"), "All is well.")
    agent = LlmAgent(name="ops", model=llm, tools=[read_log], after_tool_callback=after_tool)
    app = Desk(agent, settings=bounded())
    events = await app.say("Is all well?")
    assert LONG in str(seen) or LONG in seen
    results = [each.response for event in events for each in event.get_function_responses()]
    assert results == [{"result": LONG}]


async def test_a_short_tool_result_is_not_touched() -> None:
    def read_sensor() -> dict[str, int]:
        """Read the sensor."""
        return {"degrees": 21}

    llm = ScriptedLlm().on("generator", call("read_sensor"), "21 degrees.")
    app = Desk(LlmAgent(name="ops", model=llm, tools=[read_sensor]), settings=bounded())
    await app.ask("How warm?")
    assert '"response":{"degrees":21}' in whole(llm.requests[-1])
    [interaction] = await app.evidence()
    assert interaction.tool_results[0].whole is None


async def test_an_agent_tool_without_the_plugin_is_refused_before_any_request() -> None:
    expert = LlmAgent(name="expert", model=ForbiddenLlm(), description="Looks.")
    boss = LlmAgent(
        name="boss", model=ForbiddenLlm(), tools=[AgentTool(expert, include_plugins=False)]
    )
    app = Desk(boss)
    with pytest.raises(RuntimeError, match="include_plugins=False") as raised:
        await app.say(f"Ask the expert. {BAN}")
    assert isinstance(raised.value.__cause__, MemoryBypassedError)
    assert await app.constraints() == []


async def test_evidence_bears_the_memory_that_the_plugin_has() -> None:
    llm = ScriptedLlm().on("generator", "Noted.")
    app = Desk(LlmAgent(name="ops", model=llm))
    await app.ask(BAN)
    await app.ask("And now?", state={"temp:memory": "replay"})
    assert [interaction.memory for interaction in await app.evidence()] == ["acc", "acc"]
    assert await app.constraints() == [BAN]
    assert not [warning for report in app.reports for warning in report.warnings]


async def test_a_task_that_ends_in_one_message_is_a_turn_like_any_other() -> None:
    llm = ScriptedLlm().on("generator", call("finish_task", result="db-01 is up."))
    app = Desk(LlmAgent(name="ops", model=llm, mode="task"))
    await app.say(f"Bring db-01 up. {BAN}")
    assert BAN in whole(llm.requests[0])
    assert await app.constraints() == [BAN]
    [interaction] = await app.evidence()
    assert interaction.decision is not None
    assert "db-01 is up." in interaction.decision.final_answer


async def test_a_task_that_asks_back_is_refused_and_sends_no_transcript() -> None:
    llm = ScriptedLlm().on("generator", "Which zone?", call("finish_task", result="Up."))
    app = Desk(LlmAgent(name="ops", model=llm, mode="task"))
    await app.say(f"Bring db-01 up. {BAN}")
    sent = len(llm.requests)
    with pytest.raises(RuntimeError, match="mode='task'") as raised:
        await app.say("Zone b.")
    assert isinstance(raised.value.__cause__, MemoryBypassedError)
    assert len(llm.requests) == sent
    assert await app.constraints() == [BAN]


async def test_a_task_given_to_a_sub_agent_has_the_memory_of_its_turn() -> None:
    worker_llm = ScriptedLlm().on("generator", call("finish_task", result="db-01 is up."))
    worker = LlmAgent(name="worker", model=worker_llm, description="Works.", mode="task")
    boss = ScriptedLlm().on("generator", call("worker", request="bring db-01 up"), "It is up.")
    app = Desk(LlmAgent(name="boss", model=boss, sub_agents=[worker]))
    assert await app.ask(f"Bring db-01 up. {BAN}") == "It is up."
    assert BAN in whole(worker_llm.requests[0])
    [interaction] = await app.evidence()
    assert interaction.decision is not None
    assert interaction.shown_answer == with_note("It is up.", "No restarts on Sundays.")
