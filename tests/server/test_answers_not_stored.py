"""A turn whose answer cannot be stored was not taken."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from acc_ace import Container, build_container
from acc_ace.server.app import create_app
from config import ROLES, Settings
from schemas.base import SessionKey
from schemas.interaction import Outcome
from tests.fakes.scripted_llm import ScriptedLlm
from tests.server.asgi import client

KEY = SessionKey("acc_ace", "user", "s1")
TURNS = "/v1/sessions/s1/turns"
RULE = "Never restart db-01."
LESSON = {"operations": [{"type": "ADD", "section": "ops", "content": "Look at the replica."}]}

REFUSE_ANSWERS = """
    CREATE TRIGGER refuse BEFORE INSERT ON adk_events
    WHEN json_extract(NEW.body, '$.content.role') = 'model'
    BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END
"""


@pytest.fixture
def container(tmp_path: Path) -> Container:
    return build_container(
        Settings(store="sqlite", data_dir=tmp_path, learning="inline", serve_web_interface=False)
    )


@pytest.fixture
async def http(container: Container) -> AsyncIterator[httpx.AsyncClient]:
    llm = ScriptedLlm().on("reflector", {"key_insight": "Look."}).on("curator", LESSON)
    app = create_app(container, models=dict.fromkeys(ROLES, llm))
    async with client(app) as opened:
        yield opened
    await app.state.acc_ace.close()


def run(folder: Path, statement: str) -> None:
    """Run a statement in the file of sessions, as another program."""
    with closing(sqlite3.connect(folder / "memory.db")) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize("way", ["JSON", "stream", "ADK"])
async def test_a_turn_whose_answer_cannot_be_stored_leaves_nothing_and_can_be_sent_again(
    way: str, http: httpx.AsyncClient, container: Container, tmp_path: Path
) -> None:
    assert (await http.post(TURNS, json={"input": "Hello."})).status_code == 200
    run(tmp_path, REFUSE_ANSWERS)
    match way:
        case "JSON":
            refused = await http.post(TURNS, json={"input": RULE})
            assert refused.status_code == 503
        case "stream":
            accept = {"accept": "text/event-stream"}
            refused = await http.post(TURNS, json={"input": RULE}, headers=accept)
            assert "event: error" in refused.text.splitlines()
            assert "event: answer" not in refused.text.splitlines()
        case _:
            said = {"role": "user", "parts": [{"text": RULE}]}
            body = {"appName": "acc_ace", "userId": "user", "sessionId": "s1", "newMessage": said}
            refused = await http.post("/run", json=body)
            assert refused.status_code == 503
    head = await container.journal.head(KEY)
    assert head is not None
    assert (head.state.turn, head.state.ccs.constraints) == (1, [])
    run(tmp_path, "DROP TRIGGER refuse")
    answered = await http.post(TURNS, json={"input": RULE})
    assert answered.json()["turn"] == 2
    assert [each.outcome for each in await container.evidence.list(KEY)] == [
        Outcome.ANSWERED,
        Outcome.FAILED,
        Outcome.ANSWERED,
    ]
