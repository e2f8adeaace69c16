"""Odd characters in x_t, answers and tool results: whole turns over every store."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.conversation import Conversation
from acc_ace.core.text.normalize import one_line
from tests.fakes.scripted_llm import ScriptedLlm, calls
from tests.pipeline.talk import KEY, seen

ODD = {
    "nul": "Never restart\x00 db-01.",
    "half a pair": "Never restart \ud83d db-01.",
    "zero width": "Never re\u200bstart db-\u206001.",
    "bidi": "Never restart \u202e10-bd\u202c db-01.",
    "controls": "Never restart\x1b[31m db-01\x07.",
    "noncharacters": "Never restart \ufffe\uffff db-01.",
}


def odd_words(kind: str) -> dict[str, str]:
    """Give back text of a kind, as a careless tool of a user would."""
    return {"text": ODD[kind]}


@pytest.fixture(params=["sqlite", "postgres"])
async def talk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Conversation]:
    where: dict[str, Any] = {"data_dir": tmp_path / "data"}
    if request.param == "postgres":
        where = {"database_url": request.getfixturevalue("postgres").clean_database()}
    tools = ("tests.pipeline.test_odd_text:odd_words",)
    container = build_container(Settings(store=request.param, tools=tools, **where))
    opened = Conversation(container, models=dict.fromkeys(ROLES, ScriptedLlm()))
    yield opened
    await opened.close()
    await container.close()


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
async def test_odd_characters_go_through_turns_undo_export_and_erasure(
    talk: Conversation, text: str
) -> None:
    await talk.turn(KEY, text)
    report = await talk.turn(KEY, f"And then? {text}")
    assert report.turn == 2
    kept = [turn.input.text for turn in await talk.container.evidence.list(KEY)]
    assert kept[-1] == text.replace("\ud83d", "?")
    state = await talk.state(KEY)
    assert state is not None
    assert state.turn == 2
    for constraint in state.ccs.constraints:
        assert constraint == one_line(constraint)
    assert (await talk.undo(KEY)).turn == 1
    records = [record async for record in talk.export(KEY.tenant)]
    assert records[-1] == {"kind": "end"}
    assert (await talk.erase(KEY.tenant))["evidence"] == 2


@pytest.mark.parametrize("kind", ODD)
async def test_odd_characters_of_tools_and_answers_are_stored_and_shown_again(
    talk: Conversation, kind: str
) -> None:
    container, llm = talk.container, ScriptedLlm()
    # A real model's reply is made encodable where it comes in; a tool's result here.
    answer = ODD[kind].replace("\ud83d", "")
    llm.on(
        "generator",
        calls(("odd_words", {"kind": kind})),
        {"final_answer": answer},
        {"final_answer": "again"},
    )
    scripted = Conversation(container, models=dict.fromkeys(ROLES, llm))
    await scripted.turn(KEY, "Say it.")
    await scripted.turn(KEY, "Say it again.")
    after_tool = seen(llm.requests_of("generator")[1])
    assert "db-" in after_tool
    after_tool.encode()
    first = (await container.evidence.list(KEY))[-1]
    assert first.decision is not None
    assert first.decision.final_answer == answer
    assert [result.is_error for result in first.tool_results] == [False]
    await scripted.close()
