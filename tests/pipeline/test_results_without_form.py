"""A tool may hand over what cannot be written down: the turn is answered all the same."""

import math
import sqlite3
from collections import UserDict
from contextlib import closing
from typing import Any

from config import Settings
from tests.fakes.scripted_llm import call
from tests.pipeline.talk import KEY, Talk

ANSWER = {"final_answer": "Seen."}


def plan() -> dict[str, Any]:
    """Read the plan, which has very many levels."""
    below: dict[str, Any] = {"step": "the last"}
    for _ in range(3_000):
        below = {"below": below}
    return below


class Mute:
    """Something that cannot even be named."""

    def __str__(self) -> str:
        raise OSError("the connection is closed")

    __repr__ = __str__


def host() -> dict[str, Any]:
    """Read a host and its load."""
    return {"host": Mute(), "load": math.nan}


class Rows(UserDict[str, Any]):
    """Rows by id, which are read when they are asked for."""

    def __init__(self, database: sqlite3.Connection) -> None:
        super().__init__()
        self.data = {"1": None}
        self._database = database

    def __getitem__(self, key: str) -> Any:
        return self._database.execute("SELECT ?", (key,)).fetchone()


def rows() -> dict[str, Any]:
    """Read rows, and close the database."""
    with closing(sqlite3.connect(":memory:")) as database:
        return {"rows": Rows(database)}


def loads() -> list[float]:
    """Read the loads."""
    return [0.5, math.inf]


async def kept_of(tool: str, answer: str) -> str:
    """What is kept of the result, and seen by the model."""
    talk = Talk(Settings(store="memory", tools=(f"{__name__}:{tool}",)))
    talk.llm.on("generator", call(tool), ANSWER)
    report = await talk.say("Look.")
    assert report.answer == "Seen."
    [response] = [
        part.function_response.response
        for content in talk.llm.requests_of("generator")[-1].contents
        for part in content.parts or []
        if part.function_response
    ]
    assert str(response).startswith(answer)
    [interaction] = await talk.container.evidence.list(KEY)
    return interaction.tool_results[0].result


async def test_a_result_of_very_many_levels_is_answered_and_kept_as_far_as_it_can_be() -> None:
    kept = await kept_of("plan", "{'below': {'below': ")
    assert kept.startswith('{"below": {"below": ')


async def test_a_result_whose_object_cannot_be_named_is_answered_and_kept() -> None:
    kept = await kept_of("host", "{'host': '(a Mute)', 'load': None}")
    assert kept == '{"host": "(a Mute)", "load": null}'


async def test_a_result_of_rows_whose_database_is_closed_is_answered_and_kept() -> None:
    kept = await kept_of("rows", "{'rows': '(a Rows)'}")
    assert kept == '{"rows": "(a Rows)"}'


async def test_a_result_that_is_a_list_is_seen_with_null_for_what_is_no_number() -> None:
    assert await kept_of("loads", "{'result': [0.5, None]}") == "[0.5, null]"
