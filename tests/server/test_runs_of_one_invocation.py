"""What one invocation answers more than once, by ADK's routes: each answer is a turn that stays."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from acc_ace import Container, build_container
from acc_ace.server.app import create_app
from config import ROLES, Settings
from schemas.base import SessionKey
from tests.fakes.scripted_llm import ScriptedLlm, calls
from tests.server.asgi import client

SESSION = {"appName": "acc_ace", "userId": "user", "sessionId": "incident"}
KEY = SessionKey("acc_ace", "user", "incident")
TURNS = "/v1/sessions/incident/turns"


@pytest.fixture
def model() -> ScriptedLlm:
    return ScriptedLlm()


@pytest.fixture
def container() -> Container:
    settings = Settings(
        store="memory",
        learning="off",
        serve_web_interface=False,
        tools=("tests.fakes.confirmed_tool:restart_server",),
    )
    return build_container(settings)


@pytest.fixture
async def http(container: Container, model: ScriptedLlm) -> AsyncIterator[httpx.AsyncClient]:
    """A server whose tool asks a person before it restarts anything."""
    app = create_app(container, models=dict.fromkeys(ROLES, model))
    async with client(app) as opened:
        yield opened
    await app.state.acc_ace.close()


async def run(http: httpx.AsyncClient, part: dict[str, Any], **more: Any) -> None:
    message = {"role": "user", "parts": [part]}
    response = await http.post("/run", json={**SESSION, "newMessage": message, **more})
    assert response.status_code == 200, response.text


async def answers(container: Container) -> list[tuple[int, str]]:
    """The turns that stand as evidence, oldest first, with what they answered."""
    kept = await container.evidence.list(KEY)
    return [(each.turn, each.decision.final_answer) for each in reversed(kept) if each.decision]


async def test_calls_that_are_confirmed_one_by_one_are_turns_that_stay(
    http: httpx.AsyncClient, container: Container, model: ScriptedLlm
) -> None:
    both = calls(("restart_server", {"server": "db-01"}), ("restart_server", {"server": "db-02"}))
    model.on(
        "generator",
        both,
        {"final_answer": "Asked."},
        {"final_answer": "Restarted db-01."},
        {"final_answer": "Restarted db-02."},
    )
    paused = (await http.post(TURNS, json={"input": "Restart both."})).json()
    for call in paused["calls"]:
        confirmed = {"id": call["id"], "name": call["name"], "response": {"confirmed": True}}
        await run(http, {"functionResponse": confirmed})
    assert await answers(container) == [(2, "Restarted db-01."), (3, "Restarted db-02.")]
    for turn in (2, 3):
        response = await http.post(f"{TURNS}/{turn}/feedback", json={"thumbs": "up"})
        assert response.status_code == 200, response.text


async def test_two_messages_under_one_invocation_id_are_turns_that_stay(
    http: httpx.AsyncClient, container: Container, model: ScriptedLlm
) -> None:
    model.on("generator", {"final_answer": "One."}, {"final_answer": "Two."})
    await http.post("/apps/acc_ace/users/user/sessions", json={"sessionId": "incident"})
    for text in ("The code word is walnut.", "Hello again."):
        await run(http, {"text": text}, invocationId="mine")
    assert await answers(container) == [(1, "One."), (2, "Two.")]
