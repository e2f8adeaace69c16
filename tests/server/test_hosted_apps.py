"""Turns of other apps that the server hosts, over its own routes: sent, asked about, repeated."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from acc_ace.bootstrap import build_container
from acc_ace.config import AgentSettings, Settings
from tests.fakes.confirmed_tool import PAID
from tests.fakes.extensions import needs
from tests.fakes.hosted_desk import agents_folder
from tests.server.asgi import client, scripted_app

RULE = "Never refund more than 20 euros."
DESK = {"app": "desk", "user": "aiko"}
TURNS = "/v1/sessions/s/turns"


@pytest.fixture
async def http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[httpx.AsyncClient]:
    """A server that hosts the apps of a folder, over one data directory."""
    unasked = AgentSettings(model="gemini-unasked")
    settings = Settings(
        reflector=unasked,
        curator=unasked,
        data_dir=tmp_path / "data",
        agent_dir=agents_folder(tmp_path / "agents"),
        serve_web_interface=False,
        learning="off",
    )
    container = build_container(settings)
    monkeypatch.setattr("acc_ace.bootstrap.process_container", lambda: container)
    app: FastAPI = scripted_app(container)
    async with client(app) as opened:
        yield opened
    await app.state.acc_ace.close()
    for name in [each for each in sys.modules if each.split(".")[0] in {"desk", "bare"}]:
        del sys.modules[name]


async def say(http: httpx.AsyncClient, text: str, **options: Any) -> httpx.Response:
    return await http.post(TURNS, params=DESK, json={"input": text}, timeout=60, **options)


async def test_a_turn_of_a_hosted_app_is_taken_and_kept_under_its_name(
    http: httpx.AsyncClient,
) -> None:
    taken = await say(http, RULE)
    assert taken.status_code == 200, taken.text
    assert taken.json()["answer"].startswith("Noted.")
    assert [rule["text"] for rule in taken.json()["constraints"]] == [RULE]
    assert (await http.get("/v1/apps", params=DESK)).json() == ["acc_ace", "desk"]
    assert (await http.get(TURNS, params={**DESK, "app": "acc_ace"})).status_code == 404


async def test_its_stages_and_its_answer_are_streamed_as_they_come(http: httpx.AsyncClient) -> None:
    streamed = await say(http, RULE, headers={"Accept": "text/event-stream"})
    lines = streamed.text.splitlines()
    kinds = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    assert kinds[0] == "stage_started"
    assert kinds[-1] == "turn_done"
    assert {"stage_finished", "answer"} <= set(kinds)
    assert '"compressor"' in streamed.text


async def test_a_repeat_under_its_key_runs_nothing(http: httpx.AsyncClient) -> None:
    headers = {"Idempotency-Key": "once"}
    first = await say(http, RULE, headers=headers)
    again = await say(http, RULE, headers=headers)
    assert (again.status_code, again.json()["turn"]) == (200, 1), again.text
    assert again.json()["answer"] == first.json()["answer"]
    assert len((await http.get(TURNS, params=DESK)).json()["items"]) == 1
    other = await say(http, "Something else.", headers=headers)
    assert other.status_code == 422
    assert (await say(http, "And now?")).json()["turn"] == 2


@needs("guard")
@pytest.mark.parametrize("is_confirmed", [True, False])
async def test_a_guarded_call_waits_for_an_answer(
    http: httpx.AsyncClient, is_confirmed: bool
) -> None:
    PAID.clear()
    await say(http, RULE)
    paused = await say(http, "Refund A1.")
    assert paused.status_code == 202, paused.text
    [waiting] = paused.json()["calls"]
    assert RULE in waiting["args"]["toolConfirmation"]["hint"]
    answer = {"id": waiting["id"], "name": waiting["name"], "response": {"confirmed": is_confirmed}}
    run = {
        "appName": "desk",
        "userId": "aiko",
        "sessionId": "s",
        "newMessage": {"role": "user", "parts": [{"functionResponse": answer}]},
    }
    ended = await http.post("/run", json=run, timeout=60)
    assert ended.status_code == 200, ended.text
    assert ([50] if is_confirmed else []) == PAID
    [turn, _] = (await http.get(TURNS, params=DESK)).json()["items"]
    assert turn["outcome"] == "answered"


@pytest.mark.parametrize(
    ("app", "said"), [("none", "nothing is stored"), ("bare", "no BoundedMemoryPlugin")]
)
async def test_an_app_that_takes_no_turns_here_says_why(
    http: httpx.AsyncClient, app: str, said: str
) -> None:
    refused = await http.post(TURNS, params={**DESK, "app": app}, json={"input": "Hello."})
    assert refused.status_code in {404, 422}
    assert said in refused.json()["detail"]
