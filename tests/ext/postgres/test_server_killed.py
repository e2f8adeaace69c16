"""A server is killed while a turn's model is thinking, and another one takes the session over."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.conversation import APP_NAME
from acc_ace.ext.postgres.database import PostgresDatabase
from acc_ace.server.identity import DEFAULT_USER
from acc_ace.storage.create_stores import Stores
from bench.journal_check import journal_problems
from config import ROLES
from schemas.base import SessionKey
from tests.durability.processes import evidence, history
from tests.e2e.processes import Server, our_server
from tests.fakes.default_replies import default_reply
from tests.fakes.fake_openai import fake_openai, says
from tests.fakes.loopback import HttpReply, Received

FIRST = "No restarts during business hours."
CUT_OFF = "Never delete a backup."
LAST = "db-01 is slow. Which rules hold?"

WAIT_S = 60.0


class Thinking:
    """A Generator that never answers one input, and says when it was asked."""

    def __init__(self, text: str) -> None:
        self.started = threading.Event()
        self._text = text

    def __call__(self, received: Received) -> HttpReply:
        answer = says(json.dumps(default_reply(received.role, received.text)))
        if self._text not in received.text or self.started.is_set():
            return answer
        self.started.set()
        return HttpReply(answer.body, answer.chunks, delay_s=3_600)


def post(server: Server, text: str) -> httpx.Response:
    return httpx.post(
        f"{server.url}/v1/sessions/s-1/turns",
        json={"input": text},
        timeout=WAIT_S,
        trust_env=False,
    )


def turn(server: Server, text: str) -> dict[str, Any]:
    answer = post(server, text)
    answer.raise_for_status()
    report: dict[str, Any] = answer.json()
    return report


async def said(url: str, key: SessionKey) -> list[str]:
    """What the user said, as the session's events have it."""
    database = PostgresDatabase(url)
    session = await SqlSessionService(database).get_session(
        app_name=key.app, user_id=key.user, session_id=key.session
    )
    await database.close()
    assert session is not None
    return [
        part.text or ""
        for event in session.events
        if event.author == "user" and event.content
        for part in event.content.parts or []
    ]


@pytest.mark.soak
async def test_a_server_killed_in_mid_turn_leaves_a_whole_session_to_another(
    url: str, tmp_path: Path, stores: Stores
) -> None:
    thinking = Thinking(CUT_OFF)
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with fake_openai() as fake, ThreadPoolExecutor(1) as pool:
        fake.script("generator", thinking)
        settings = {
            "ACC_ACE_STORE": "postgres",
            "ACC_ACE_DATABASE_URL": url,
            "ACC_ACE_SERVE_WEB_INTERFACE": "false",
            "ACC_ACE_OPENAI_BASE_URL": fake.base_url,
            "ACC_ACE_LIMITS__TURN_WAIT_S": "3",
            **{f"ACC_ACE_{role.upper()}__MODEL": "openai/fake" for role in ROLES},
        }
        with (
            our_server(tmp_path / "one", **settings) as one,
            our_server(tmp_path / "two", **settings) as two,
        ):
            assert turn(one, FIRST)["turn"] == 1
            hanging = pool.submit(post, one, CUT_OFF)
            assert thinking.started.wait(WAIT_S), one.output()[-4_000:]
            # As long as the server lives, the session is its own.
            assert post(two, "Me too.").status_code == 409
            one.process.kill()
            one.process.wait()
            with pytest.raises(httpx.TransportError):
                hanging.result(WAIT_S)
            report = turn(two, LAST)
            assert [rule["text"] for rule in report["constraints"]] == [FIRST]
    key = SessionKey(APP_NAME, DEFAULT_USER, "s-1")
    entries = await history(stores, key)
    assert journal_problems(entries) == []
    # Nothing of the killed turn was written.
    assert [entry.state.turn for entry in entries] == [1, 2]
    turns = await evidence(stores, key)
    assert [(item.turn, item.input.text) for item in turns if item.decision is not None] == [
        (1, FIRST),
        (2, LAST),
    ]
    assert await said(url, key) == [FIRST, LAST]
