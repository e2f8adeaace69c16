"""The plugin around trees of agents and workflows: every request is bounded, one turn is kept."""

import warnings
from typing import Any

import pytest
from google.adk.agents import BaseAgent, LlmAgent, ParallelAgent, SequentialAgent
from google.adk.tools.agent_tool import AgentTool
from google.adk.workflow import START, Workflow

from acc_ace.core.schemas import state as keys
from acc_ace.core.schemas.commit import CommittedState
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.pipeline.desk import Desk, unquoted, whole, with_note

agents_as_tools = pytest.mark.filterwarnings(
    # ADK's AgentTool itself hands its plugins on in the way that ADK deprecates.
    "ignore:The `plugins` argument is deprecated:DeprecationWarning"
)

BAN = "Never send reminders on Sundays."


def coordinator(boss: ScriptedLlm, billing: ScriptedLlm, **options: Any) -> LlmAgent:
    clerk = LlmAgent(name="billing", model=billing, description="Knows invoices.", **options)
    return LlmAgent(name="coordinator", model=boss, instruction="Route.", sub_agents=[clerk])


def flow(writer: ScriptedLlm, editor: ScriptedLlm) -> Workflow:
    def shout(node_input: str) -> str:
        return node_input.upper()

    first = LlmAgent(name="writer", model=writer, instruction="Write.")
    last = LlmAgent(name="editor", model=editor, instruction="Edit.")
    return Workflow(name="flow", edges=[(START, first, shout, last)])


def sequential(*agents: BaseAgent) -> SequentialAgent:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return SequentialAgent(name="line", sub_agents=list(agents))


def parallel(*agents: BaseAgent) -> ParallelAgent:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return ParallelAgent(name="fan", sub_agents=list(agents))


@pytest.mark.parametrize("include", ["default", "none"])
async def test_the_agent_that_takes_over_sees_state_and_input(include: str) -> None:
    boss = ScriptedLlm().on("generator", call("transfer_to_agent", agent_name="billing"))
    billing = ScriptedLlm().on("generator", "Invoice 7 is paid.")
    app = Desk(coordinator(boss, billing, include_contents=include))
    answer = await app.ask(f"Is invoice 7 paid? {BAN}")
    assert answer == "Invoice 7 is paid."
    for request in (boss.requests[-1], billing.requests[-1]):
        assert "Is invoice 7 paid?" in whole(request)
        assert "- [c-0001] Never send reminders on Sundays." in whole(request)
    [interaction] = await app.evidence()
    assert interaction.decision is not None
    assert interaction.shown_answer == with_note(
        "Invoice 7 is paid.", "Never send reminders on Sundays."
    )
    assert app.memory.roles == ["compressor", "reflector", "curator"]


async def test_the_agent_that_answered_last_goes_on_without_its_own_transcript() -> None:
    boss = ScriptedLlm().on("generator", call("transfer_to_agent", agent_name="billing"))
    billing = ScriptedLlm().on("generator", "Kiwi is paid.")
    app = Desk(coordinator(boss, billing))
    for number in range(20):
        await app.ask(f"What of zebra{number}.")
    assert len(boss.requests) == 1
    last = unquoted(whole(billing.requests[-1]))
    assert "zebra19." in last
    assert "Kiwi" not in last
    assert not [number for number in range(18) if f"zebra{number}." in last]


@agents_as_tools
async def test_an_agent_called_as_a_tool_has_the_memory_and_its_own_loop() -> None:
    def look(invoice: int) -> dict[str, str]:
        """Look up an invoice.

        Args:
            invoice: Its number.
        """
        return {"status": f"invoice {invoice} open"}

    expert_llm = ScriptedLlm().on("generator", call("look", invoice=7), "It is open.", "Open.")
    expert = LlmAgent(name="expert", model=expert_llm, description="Looks.", tools=[look])
    boss = ScriptedLlm().on("generator", call("expert", request="check invoice 7"), "Still open.")
    app = Desk(LlmAgent(name="boss", model=boss, tools=[AgentTool(expert)]))
    assert await app.ask(f"What of invoice 7? {BAN}") == "Still open."
    asked = whole(expert_llm.requests[-1])
    assert "check invoice 7" in asked
    assert "What of invoice 7?" in asked
    assert BAN in asked
    assert len(expert_llm.requests[-1].contents) == 4
    [interaction] = await app.evidence()
    assert [result.name for result in interaction.tool_results] == ["look", "expert"]
    assert interaction.decision is not None
    assert interaction.shown_answer == with_note("Still open.", "Never send reminders on Sundays.")
    assert app.memory.roles == ["compressor", "reflector", "curator"]
    assert app.reports[-1].warnings == []


@agents_as_tools
async def test_an_agent_called_as_a_tool_cannot_write_the_state_of_its_caller() -> None:
    def overwrite(tool_context: Any) -> dict[str, str]:
        """Write what only memory may write."""
        tool_context.state[keys.CCS] = {"constraints": []}
        return {"status": "done"}

    expert = LlmAgent(
        name="expert",
        model=ScriptedLlm().on("generator", call("overwrite"), "Done."),
        description="Writes.",
        tools=[overwrite],
    )
    boss = ScriptedLlm().on("generator", call("expert", request="go"), "All done.")
    app = Desk(LlmAgent(name="boss", model=boss, tools=[AgentTool(expert)]))
    await app.ask(BAN)
    state = await app.session_state()
    assert CommittedState.from_state(state["ccs"]).ccs.constraints == [BAN]


async def test_every_model_of_a_workflow_has_the_memory_and_no_transcript() -> None:
    writer = ScriptedLlm().on("generator", "a kiwi draft", "a second draft")
    editor = ScriptedLlm().on("generator", "The kiwi text.", "The second text.")
    app = Desk(flow(writer, editor))
    assert await app.ask(f"Write on zebra one. {BAN}") == "The kiwi text."
    assert await app.ask("Write on db-01.") == "The second text."
    assert "A SECOND DRAFT" in str(editor.requests[-1].contents)
    for request in (writer.requests[-1], editor.requests[-1]):
        assert BAN in whole(request)
        assert "Write on db-01." in whole(request)
        assert "kiwi" not in unquoted(whole(request)).lower()
        assert "zebra" not in unquoted(whole(request))
    kept = await app.evidence()
    assert [interaction.turn for interaction in kept] == [2, 1]
    assert kept[0].decision is not None
    assert "The second text." in kept[0].decision.final_answer


async def test_the_output_of_a_workflow_that_speaks_no_word_is_its_answer() -> None:
    def count(node_input: str) -> dict[str, int]:
        return {"words": len(str(node_input).split())}

    app = Desk(Workflow(name="flow", edges=[(START, count)]))
    await app.say("Count these four.")
    [interaction] = await app.evidence()
    assert interaction.decision is not None
    assert '"words"' in interaction.decision.final_answer


async def test_agents_in_a_row_see_each_other_within_the_turn_only() -> None:
    first = ScriptedLlm().on("generator", "kiwi", "mango")
    second = ScriptedLlm().on("generator", "done")
    line = sequential(LlmAgent(name="one", model=first), LlmAgent(name="two", model=second))
    app = Desk(line)
    await app.ask(f"Begin. {BAN}")
    await app.ask("Again.")
    last = unquoted(whole(second.requests[-1]))
    assert "mango" in last
    assert "kiwi" not in last
    assert "Again." in last
    assert BAN in last
    assert [interaction.turn for interaction in await app.evidence()] == [2, 1]


async def test_agents_side_by_side_share_one_turn() -> None:
    models = [ScriptedLlm().on("generator", word) for word in ("left", "right")]
    agents = [LlmAgent(name=f"a{at}", model=model) for at, model in enumerate(models)]
    app = Desk(parallel(*agents))
    await app.ask(BAN)
    await app.ask("Again.")
    assert all(BAN in whole(model.requests[-1]) for model in models)
    [newest, _] = await app.evidence()
    assert newest.decision is not None
    assert set(newest.decision.final_answer.split()) == {"left", "right"}


async def test_a_constraint_of_turn_1_is_in_every_request_of_turn_30() -> None:
    writer = ScriptedLlm().on("generator", "draft")
    editor = ScriptedLlm().on("generator", "text")
    app = Desk(flow(writer, editor))
    await app.ask(BAN)
    for number in range(2, 31):
        await app.ask(f"Item {number}.")
    assert BAN in whole(writer.requests[-1])
    assert BAN in whole(editor.requests[-1])
