"""Nothing that is stored is out of reach: what is too long for one request is read on from."""

import json

from google.adk.agents import LlmAgent

from tests.fakes.scripted_llm import Script, ScriptedLlm, call
from tests.pipeline.desk import Desk, whole

SEARCH = "search_evidence"
LINES = [f"Step {at:02}: turn the valve of section {at * 7} by {at} degrees." for at in range(60)]
LONG = "\n".join(
    line for at, line in enumerate(LINES) for line in (line, *(f"Note {at}.{n}." for n in range(9)))
)
MASTS = ("Alba", "Brisa", "Corvo", "Dalia", "Erna")
FACTS = {f"mast {name}": f"The mast {name} was painted by {name}'s crew." for name in MASTS}
FILLER = "Nothing to report from this stretch of the coast today. " * 330


def survey() -> dict[str, str]:
    """The log of a coast."""
    return {"log": FILLER.join(["", *FACTS.values(), ""])}


async def results(desk: Desk) -> list[dict[str, object]]:
    """What the searches of the last turn gave."""
    turn = (await desk.evidence())[0]
    return [json.loads(each.result) for each in turn.tool_results if each.name == SEARCH]


async def test_all_lines_of_a_long_answer_can_be_read_one_stretch_after_another() -> None:
    place, text = "turn:s1:1", ""
    read_on: list[Script] = [lambda _: call(SEARCH, query="", artifact_id=place), "Done."]
    llm = ScriptedLlm().on("generator", LONG, *(12 * read_on))
    desk = Desk(LlmAgent(name="desk", model=llm))
    await desk.ask("Write the plan.")
    while place:
        await desk.ask("Read on, please.")
        [result] = await results(desk)
        assert result["found"] == 1
        text += str(result["results"])
        place = str(result.get("next", ""))
    assert [line for line in LINES if line not in text] == []


async def test_each_fact_in_a_large_result_of_a_tool_is_found_by_its_words() -> None:
    assert len(survey()["log"]) > 90_000
    searches = [reply for asked in FACTS for reply in (call(SEARCH, query=asked), "Done.")]
    llm = ScriptedLlm().on("generator", call("survey"), "Done.", *searches)
    desk = Desk(LlmAgent(name="desk", model=llm, tools=[survey]))
    await desk.ask("Read the log.")
    for fact in FACTS.values():
        await desk.ask("What of it?")
        assert fact in whole(llm.requests[-1])


async def test_a_place_that_does_not_exist_holds_nothing() -> None:
    llm = ScriptedLlm().on(
        "generator", "Noted.", call(SEARCH, query="", artifact_id="turn:s1:1+99999"), "Gone."
    )
    desk = Desk(LlmAgent(name="desk", model=llm))
    await desk.ask("The gate is green.")
    assert await desk.ask("Read on.") == "Gone."
    assert [result["found"] for result in await results(desk)] == [0]
