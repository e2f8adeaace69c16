"""A turn that waits for a person says so, and what it waits for."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.server.app import create_app
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.server.asgi import client

TURNS = "/v1/sessions/incident/turns"


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    """A server whose tool asks a person before it restarts anything."""
    settings = Settings(
        store="memory",
        learning="off",
        serve_web_interface=False,
        tools=("tests.fakes.confirmed_tool:restart_server",),
    )
    model = ScriptedLlm().on(
        "generator", call("restart_server", server="db-01"), {"final_answer": "Restarted."}
    )
    app = create_app(build_container(settings), models=dict.fromkeys(ROLES, model))
    async with client(app) as opened:
        yield opened
    await app.state.acc_ace.close()


async def answer(http: httpx.AsyncClient, paused: dict[str, Any]) -> str:
    """Confirm the one call that waits, as the documentation says; the text of the events."""
    [waiting] = paused["calls"]
    response = {"id": waiting["id"], "name": waiting["name"], "response": {"confirmed": True}}
    message = {"role": "user", "parts": [{"functionResponse": response}]}
    session = {"appName": "acc_ace", "userId": "user", "sessionId": paused["session"]}
    answered = await http.post("/run", json={**session, "newMessage": message})
    assert answered.status_code == 200, answered.text
    return answered.text


async def test_a_turn_that_waits_is_accepted_and_names_its_calls(http: httpx.AsyncClient) -> None:
    response = await http.post(TURNS, json={"input": "Restart db-01."})
    assert response.status_code == 202
    paused = response.json()
    assert (paused["type"], paused["session"]) == ("turn_paused", "incident")
    assert "POST /run" in paused["detail"]
    [waiting] = paused["calls"]
    assert waiting["name"] == "adk_request_confirmation"
    assert waiting["args"]["originalFunctionCall"]["args"] == {"server": "db-01"}
    assert "Restarted." in await answer(http, paused)


async def test_a_chat_that_waits_says_which_session_it_was(http: httpx.AsyncClient) -> None:
    response = await http.post("/v1/chat", json={"input": "Restart db-01."})
    assert response.status_code == 202
    assert "Restarted." in await answer(http, response.json())


async def test_the_stream_of_a_turn_that_waits_ends_with_what_it_waits_for(
    http: httpx.AsyncClient,
) -> None:
    response = await http.post(f"{TURNS}?stream=true", json={"input": "Restart db-01."})
    name, data = response.text.strip().split("\n\n")[-1].split("\n")
    assert name == "event: turn_paused"
    assert "Restarted." in await answer(http, json.loads(data.removeprefix("data: ")))


async def test_the_api_document_tells_of_turns_that_wait(http: httpx.AsyncClient) -> None:
    document = (await http.get("/openapi.json")).json()
    for path in ("/v1/sessions/{session}/turns", "/v1/chat"):
        accepted = document["paths"][path]["post"]["responses"]["202"]
        schema = accepted["content"]["application/json"]["schema"]
        assert schema == {"$ref": "#/components/schemas/TurnPaused"}
    assert {"session", "calls"} <= set(document["components"]["schemas"]["TurnPaused"]["required"])


async def test_what_came_with_a_turn_that_waits_teaches_when_it_is_answered() -> None:
    lesson = "Check which server is meant before naming one."
    settings = Settings(
        store="memory",
        learn_on="evidence",
        serve_web_interface=False,
        tools=("tests.fakes.confirmed_tool:restart_server",),
    )
    restart = call("restart_server", server="db-01")
    model = ScriptedLlm().on("generator", restart, {"final_answer": "Restarted."})
    model.on("reflector", {"key_insight": lesson})
    model.on("curator", {"operations": [{"type": "ADD", "section": "s", "content": lesson}]})
    app = create_app(build_container(settings), models=dict.fromkeys(ROLES, model))
    async with client(app) as opened:
        paused = await opened.post(TURNS, json={"input": "Restart db-01.", "reward": -1.0})
        assert not model.requests_of("reflector")
        await answer(opened, paused.json())
        bullets = (await opened.get("/v1/playbook")).json()["bullets"]
    assert [bullet["content"] for bullet in bullets] == [lesson]
    await app.state.acc_ace.close()
