"""Results of tools that JSON cannot hold end no turn, and are kept as evidence."""

from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.llm_response import LlmResponse
from pydantic import BaseModel

from acc_ace.stages.tool_loop import result_text
from tests.fakes.scripted_llm import ScriptedLlm, call, text_content
from tests.pipeline.desk import Desk


def pairs() -> dict[str, Any]:
    """Read which hosts talk to each other."""
    return {"pairs": {("db-01", "db-02"): "often"}}


async def test_a_result_whose_keys_are_no_text_is_kept_and_seen_by_the_agent() -> None:
    answer = LlmResponse(content=text_content("They talk often."))
    llm = ScriptedLlm().on("generator", call("pairs"), answer)
    app = Desk(LlmAgent(name="ops", model=llm, tools=[pairs]))
    assert await app.ask("Who talks to whom?") == "They talk often."
    [seen] = [
        part.function_response.response
        for content in llm.requests[-1].contents
        for part in content.parts or []
        if part.function_response
    ]
    assert seen == pairs()
    [interaction] = await app.evidence()
    [result] = interaction.tool_results
    assert result.result == '{"pairs": {"db-01,db-02": "often"}}'


class Person(BaseModel):
    name: str


class Account(Person):
    password: str


class Picture(BaseModel):
    raw: bytes
    owner: Person


def look() -> Picture:
    """Look at a picture."""
    return Picture(raw=b"\x89P\xff", owner=Account(name="aiko", password="open sesame"))


async def test_a_model_with_bytes_ends_no_turn_and_what_it_hides_is_told_to_nobody() -> None:
    answer = LlmResponse(content=text_content("It is hers."))
    llm = ScriptedLlm().on("generator", call("look"), answer)
    app = Desk(LlmAgent(name="ops", model=llm, tools=[look]))
    assert await app.ask("Whose picture is it?") == "It is hers."
    [interaction] = await app.evidence()
    [result] = interaction.tool_results
    assert result.result == '{"raw": "iVD_", "owner": {"name": "aiko"}}'


def looped() -> object:
    loop: list[object] = []
    loop.append(loop)
    return loop


def deep() -> object:
    nest: list[object] = []
    for _ in range(100_000):
        nest = [nest]
    return nest


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ({"pairs": {(1, 2): "\ud83d"}}, '{"pairs": {"1,2": "\ufffd"}}'),
        (looped(), '["(the same as what holds it)"]'),
        ({"n": 10**5_000}, '{"n": "(a number too long to be kept)"}'),
        (deep(), "[" * 100 + '"(nested too deeply to be kept)"' + "]" * 100),
    ],
    ids=["keys", "loop", "number", "depth"],
)
def test_any_result_has_a_text(response: object, text: str) -> None:
    assert result_text(response) == text
