"""The plugin offers agents a tool that reads memory."""

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.google_search_tool import google_search
from pydantic import BaseModel

from acc_ace.models.response_shape import declarations_of
from tests.contract.values import artifact
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.pipeline.desk import KEY, Desk, whole

SEARCH = "search_evidence"


def search_evidence(query: str) -> dict[str, str]:
    """Search the agent's own evidence.

    Args:
        query: What for.
    """
    return {"own": query}


class Invoice(BaseModel):
    number: int = 0


def offered(request: LlmRequest) -> list[str | None]:
    return [item.name for item in declarations_of(request)]


async def test_an_agent_finds_what_was_said_in_another_session() -> None:
    llm = ScriptedLlm().on("generator", "Noted.", call(SEARCH, query="gate code"), "It is 4711.")
    desk = Desk(LlmAgent(name="desk", model=llm))
    await desk.ask("The gate code is 4711.", key=KEY._replace(session="before"))
    assert await desk.ask("Look it up.") == "It is 4711."
    assert [offered(request) for request in llm.requests] == [[], [SEARCH], [SEARCH]]
    assert "The gate code is 4711." in whole(llm.requests[-1])
    [turn] = await desk.evidence()
    assert [result.name for result in turn.tool_results] == [SEARCH]
    assert [verdict.tool for verdict in turn.guarded] == []


async def test_a_search_that_is_repeated_is_answered_without_one_and_then_not_offered() -> None:
    again = call(SEARCH, query="gate code")
    llm = ScriptedLlm().on("generator", "Noted.", again, again, "I do not know.", "Hello.")
    desk = Desk(LlmAgent(name="desk", model=llm))
    await desk.ask("The gate code is 4711.", key=KEY._replace(session="before"))
    await desk.ask("Look up the gate code.")
    assert "already asked" in whole(llm.requests[-1])
    assert [offered(request) for request in llm.requests] == [[], [SEARCH], [SEARCH], []]
    await desk.ask("Hello.")
    assert offered(llm.requests[-1]) == [SEARCH]


async def test_a_part_of_a_document_has_a_short_id_and_is_read_by_it() -> None:
    part = artifact(
        "part:3f9a1c2b4d5e6f70:0123456789abcdef:00000517", "The gate code of the barn is 4711."
    ).model_copy(update={"tenant": KEY.tenant})
    llm = ScriptedLlm().on(
        "generator", call(SEARCH, query="", artifact_id="part:3f9a:517"), "It is 4711."
    )
    desk = Desk(LlmAgent(name="desk", model=llm))
    await desk.container.artifacts.add([part])
    assert await desk.ask("What is the gate code of the barn?") == "It is 4711."
    assert "[part:3f9a:517] " in whole(llm.requests[0])
    assert part.artifact_id not in whole(llm.requests[-1])
    [turn] = await desk.evidence()
    assert part.content in turn.tool_results[0].result


async def test_what_it_finds_against_a_rule_has_the_rule_beside_it() -> None:
    lifts = "You may restart db-01 during business hours."
    llm = ScriptedLlm().on("generator", "Noted.", "Noted.", call(SEARCH, query="restart"), "No.")
    desk = Desk(LlmAgent(name="desk", model=llm))
    await desk.ask(lifts, key=KEY._replace(session="before"))
    await desk.ask("Never restart db-01 during business hours.")
    await desk.ask("What is known of it?")
    sent = whole(llm.requests[-1])
    assert lifts in sent
    assert "c-0001" in sent.split("which lift nothing", 1)[1][:40]


@pytest.mark.parametrize(
    ("agent", "offers", "tools"),
    [
        ({}, False, []),
        ({"tools": [search_evidence]}, True, [SEARCH]),
        ({"output_schema": Invoice}, True, []),
        ({"tools": [google_search]}, True, []),
    ],
    ids=["opted out", "a tool of that name", "schema only", "tools at the provider"],
)
async def test_it_is_not_offered_where_it_cannot_be_or_is_not_wanted(
    agent: dict[str, object], offers: bool, tools: list[str]
) -> None:
    llm = ScriptedLlm(model="gemini-3.5-flash").on("generator", '{"number": 7}')
    desk = Desk(LlmAgent(name="desk", model=llm, **agent), search_evidence=offers)
    await desk.ask("Hello.")
    assert offered(llm.requests[0]) == tools
