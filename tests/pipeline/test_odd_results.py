"""Results of tools that JSON cannot hold end no turn, and are kept as evidence."""

import math
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.llm_response import LlmResponse
from pydantic import BaseModel, ConfigDict, computed_field

from acc_ace.config import Settings
from tests.fakes.scripted_llm import ScriptedLlm, call, text_content
from tests.pipeline.desk import Desk
from tests.pipeline.talk import KEY, Talk


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
    model_config = ConfigDict(ser_json_bytes="base64")

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


def plan() -> dict[str, Any]:
    """Read the plan, which has very many levels."""
    below: dict[str, Any] = {"step": "the last"}
    for _ in range(3_000):
        below = {"below": below}
    return below


class Row(BaseModel):
    """A row that is written when it is asked for."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    database: sqlite3.Connection

    @computed_field
    def name(self) -> str:
        """Read it."""
        return str(self.database.execute("SELECT 'aiko'").fetchone()[0])


def rows() -> dict[str, Any]:
    """Read a row, and close the database."""
    with closing(sqlite3.connect(":memory:")) as database:
        return {"row": Row(database=database), "load": math.nan}


def loads() -> list[float]:
    """Read the loads."""
    return [0.5, math.inf]


@pytest.mark.parametrize(
    ("tool", "seen", "kept"),
    [
        ("plan", "{'below': '(a dict)'}", '{"below": "(a dict)"}'),
        ("rows", "{'row': '(a Row)', 'load': None}", '{"row": "(a Row)", "load": null}'),
        ("loads", "{'result': [0.5, None]}", "[0.5, null]"),
    ],
)
async def test_a_result_that_cannot_be_stored_is_answered_and_kept_as_far_as_it_can_be(
    tool: str, seen: str, kept: str
) -> None:
    talk = Talk(Settings(store="memory", tools=(f"{__name__}:{tool}",)))
    talk.llm.on("generator", call(tool), {"final_answer": "Seen."})
    report = await talk.say("Look.")
    assert report.answer == "Seen."
    [response] = [
        part.function_response.response
        for content in talk.llm.requests_of("generator")[-1].contents
        for part in content.parts or []
        if part.function_response
    ]
    assert str(response).startswith(seen)
    [interaction] = await talk.container.evidence.list(KEY)
    assert interaction.tool_results[0].result.startswith(kept)
