"""A turn whose answer cannot be stored was not; what only shows the playbook ends no turn."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from config import ROLES, Settings
from core.bootstrap import build_container
from core.container import Container
from schemas.interaction import Outcome
from schemas.tenancy import SessionKey
from server.app import create_app
from tests.fakes.scripted_llm import ScriptedLlm
from tests.server.asgi import client

KEY = SessionKey("acc_ace", "user", "s1")
TURNS = "/v1/sessions/s1/turns"
RULE = "Never restart db-01."
LESSON = {"operations": [{"type": "ADD", "section": "ops", "content": "Look at the replica."}]}

REFUSE_ANSWERS = """
    CREATE TRIGGER refuse BEFORE INSERT ON events
    WHEN json_extract(NEW.event_data, '$.content.role') = 'model'
    BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END
"""
REFUSE_PLAYBOOKS = """
    CREATE TRIGGER refuse BEFORE INSERT ON app_states
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
    with closing(sqlite3.connect(folder / "sessions.db")) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize("way", ["JSON", "stream", "ADK"])
async def test_a_turn_whose_answer_cannot_be_stored_is_undone_and_can_be_sent_again(
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


async def test_a_playbook_that_cannot_be_shown_in_the_state_ends_no_turn(
    http: httpx.AsyncClient, container: Container, tmp_path: Path
) -> None:
    assert (await http.get("/apps/acc_ace/users/user/sessions")).json() == []
    run(tmp_path, REFUSE_PLAYBOOKS)
    answered = await http.post(TURNS, json={"input": RULE})
    assert (answered.status_code, answered.json()["turn"]) == (200, 1)
    run(tmp_path, "DROP TRIGGER refuse")
    assert (await http.post(TURNS, json={"input": "Hello."})).status_code == 200
    shown = await http.get("/apps/acc_ace/users/user/sessions/s1")
    assert "Look at the replica." in str(shown.json()["state"]["app:playbook"])
