"""A person's answer to a call whose run was lost: what still waits can be answered."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from acc_ace import Container, build_container
from acc_ace.errors import ModelUnavailable
from acc_ace.server.app import create_app
from config import ROLES
from schemas.base import SessionKey
from schemas.interaction import Outcome
from tests.fakes.place import Place
from tests.fakes.scripted_llm import ScriptedLlm, calls
from tests.server.asgi import client
from tests.server.test_turn_routes import Caller, Hold

KEY = SessionKey("acc_ace", "user", "incident")
TURNS = "/v1/sessions/incident/turns"
BOTH = calls(("restart_server", {"server": "db-01"}), ("restart_server", {"server": "db-02"}))


@pytest.fixture
def model() -> ScriptedLlm:
    return ScriptedLlm()


@pytest.fixture
def container(place: Place) -> Container:
    settings = place.with_settings(
        learning="off",
        serve_web_interface=False,
        tools=("tests.fakes.confirmed_tool:restart_server",),
    )
    return build_container(settings)


@pytest.fixture
async def app(container: Container, model: ScriptedLlm) -> AsyncIterator[FastAPI]:
    """A server whose tool asks a person before it restarts anything."""
    made = create_app(container, models=dict.fromkeys(ROLES, model))
    yield made
    await made.state.acc_ace.close()


@pytest.fixture
async def http(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with client(app) as opened:
        yield opened


def confirmation(call: dict[str, Any]) -> dict[str, Any]:
    """The body of ADK's /run that lets a call run."""
    confirmed = {"id": call["id"], "name": call["name"], "response": {"confirmed": True}}
    return {
        "appName": "acc_ace",
        "userId": "user",
        "sessionId": "incident",
        "newMessage": {"role": "user", "parts": [{"functionResponse": confirmed}]},
    }


async def waiting(http: httpx.AsyncClient) -> list[dict[str, Any]]:
    """The calls that a turn leaves for a person."""
    response = await http.post(TURNS, json={"input": "Restart what is down."})
    found: list[dict[str, Any]] = response.json()["calls"]
    return found


async def results(container: Container, outcome: Outcome) -> list[str]:
    """What tools returned in the turns of an outcome, newest turn first."""
    kept = await container.evidence.list(KEY)
    return [
        result.result for each in kept for result in each.tool_results if each.outcome is outcome
    ]


async def test_a_hang_up_in_the_answer_to_one_call_leaves_the_other_one_to_be_answered(
    app: FastAPI, http: httpx.AsyncClient, container: Container, model: ScriptedLlm
) -> None:
    hold = Hold()
    model.on("generator", BOTH, {"final_answer": "Asked."}, hold, {"final_answer": "Restarted."})
    one, two = await waiting(http)
    caller = Caller(app, "/run", confirmation(one))
    await hold.asked.wait()
    caller.hang_up()
    await caller.call
    response = await http.post("/run", json=confirmation(two))
    assert response.status_code == 200, response.text
    assert await results(container, Outcome.ANSWERED) == ['{"restarted": "db-02"}']


async def test_a_call_that_has_run_is_not_run_again_and_its_result_stays(
    http: httpx.AsyncClient, container: Container, model: ScriptedLlm
) -> None:
    once = calls(("restart_server", {"server": "db-01"}))
    down, done = ModelUnavailable("down"), {"final_answer": "It was restarted."}
    model.on("generator", once, {"final_answer": "Asked."}, down, done)
    [call] = await waiting(http)
    assert (await http.post("/run", json=confirmation(call))).status_code == 503
    again = await http.post("/run", json=confirmation(call))
    assert again.status_code == 200, again.text
    assert await results(container, Outcome.FAILED) == ['{"restarted": "db-01"}']
    [reported] = await results(container, Outcome.ANSWERED)
    assert "not run again: restart_server(db-01) was run in a turn that ended" in reported


async def test_an_approval_that_is_clicked_twice_runs_its_tool_once(
    http: httpx.AsyncClient, container: Container, model: ScriptedLlm
) -> None:
    once = calls(("restart_server", {"server": "db-01"}))
    model.on("generator", once, {"final_answer": "Asked."}, {"final_answer": "Restarted."})
    [call] = await waiting(http)
    clicks = [http.post("/run", json=confirmation(call)) for _ in range(2)]
    statuses = [response.status_code for response in await asyncio.gather(*clicks)]
    assert 200 in statuses
    assert await results(container, Outcome.ANSWERED) == ['{"restarted": "db-01"}']


async def test_what_a_lost_call_returned_stays_when_the_other_one_is_answered(
    http: httpx.AsyncClient, container: Container, model: ScriptedLlm
) -> None:
    down = ModelUnavailable("down")
    model.on("generator", BOTH, {"final_answer": "Asked."}, down, {"final_answer": "Restarted."})
    one, two = await waiting(http)
    assert (await http.post("/run", json=confirmation(one))).status_code == 503
    assert (await http.post("/run", json=confirmation(two))).status_code == 200
    assert await results(container, Outcome.FAILED) == ['{"restarted": "db-01"}']
    assert await results(container, Outcome.ANSWERED) == ['{"restarted": "db-02"}']
