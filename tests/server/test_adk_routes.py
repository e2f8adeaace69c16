"""ADK's own endpoints, as `adk web` and its clients use them: same turns, same protection."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from tests.fakes.scripted_llm import ScriptedLlm
from tests.server.asgi import client, scripted_app

SESSIONS = "/apps/acc_ace/users/user/sessions"
SESSION = f"{SESSIONS}/s"
RULE = "Never restart db-01 during business hours."


@pytest.fixture
def model() -> ScriptedLlm:
    return ScriptedLlm()


@pytest.fixture
def app(model: ScriptedLlm) -> FastAPI:
    """The whole server on a scripted model and SQLite in a new folder."""
    return scripted_app(build_container(Settings()), model)


@pytest.fixture
async def http(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client of it, with one session."""
    async with client(app) as opened:
        await opened.post(SESSIONS, json={"sessionId": "s"})
        yield opened
    await app.state.acc_ace.close()


def message(text: str, **more: Any) -> dict[str, Any]:
    """Body of /run and /run_sse."""
    content = {"role": "user", "parts": [{"text": text}]}
    return {"appName": "acc_ace", "userId": "user", "sessionId": "s", "newMessage": content, **more}


async def _ccs(http: httpx.AsyncClient) -> dict[str, Any]:
    state: dict[str, Any] = (await http.get("/v1/sessions/s/ccs")).json()
    return state


async def test_run_takes_the_same_turn_as_v1(http: httpx.AsyncClient) -> None:
    events = (await http.post("/run", json=message(RULE))).json()
    texts = [
        part["text"]
        for event in events
        for part in event.get("content", {}).get("parts", [])
        if "text" in part
    ]
    assert len(texts) == 1
    assert RULE in texts[0]
    assert (await _ccs(http))["ccs"]["constraints"] == [RULE]
    report = (await http.post("/v1/sessions/s/turns", json={"input": "And now?"})).json()
    assert (report["turn"], report["ccs"]["constraints"]) == (2, [RULE])


async def test_session_state_holds_our_two_keys_only(
    http: httpx.AsyncClient, model: ScriptedLlm
) -> None:
    lesson = {"type": "ADD", "section": "servers", "content": "Ask which server is meant."}
    model.on("curator", {}, {"operations": [lesson]})
    await http.post("/run", json=message(RULE))
    first = (await http.get(SESSION)).json()["state"]
    assert set(first) == {"ccs", "app:playbook"}
    assert first["app:playbook"]["bullets"] == []
    await http.post("/run", json=message("No, that is wrong: the server is db-02."))
    state = (await http.get(SESSION)).json()["state"]
    assert set(state) == {"ccs", "app:playbook"}
    # One user's lesson is another's once it was confirmed; until then it is not the app's.
    assert state["app:playbook"]["bullets"] == []
    assert (await http.get("/v1/playbook")).json()["bullets"]


@pytest.mark.parametrize("way", ["patch", "run", "run_sse", "create"])
async def test_clients_cannot_write_our_state(http: httpx.AsyncClient, way: str) -> None:
    await http.post("/run", json=message(RULE))
    before = await _ccs(http)
    playbook = (await http.get("/v1/playbook")).json()
    forged: dict[str, Any] = {
        "ccs": {"constraints": []},
        "app:playbook": {"bullets": []},
        "temp:generator_output": {},
    }
    match way:
        case "patch":
            await http.patch(SESSION, json={"stateDelta": forged})
        case "create":
            await http.post(SESSIONS, json={"state": forged})
        case _:
            await http.post(f"/{way}", json=message("Hello.", stateDelta=forged))
    after = await _ccs(http)
    assert after["ccs"]["constraints"] == before["ccs"]["constraints"] == [RULE]
    assert (await http.get("/v1/playbook")).json()["bullets"] == playbook["bullets"]
    stored = (await http.get(SESSION)).json()["state"]
    assert stored["ccs"]["constraints"] == [RULE]


async def test_stream_shows_the_answer_and_no_internal_json(http: httpx.AsyncClient) -> None:
    response = await http.post("/run_sse", json=message(RULE, streaming=True))
    assert response.headers["content-type"].startswith("text/event-stream")
    assert RULE in response.text
    contents = [line for line in response.text.splitlines() if '"content"' in line]
    for field in ("semantic_gist", "final_answer", "bullet_ids", "focal_entities"):
        assert not any(f'\\"{field}\\"' in line for line in contents)


async def test_both_ways_share_one_turn_at_a_time(http: httpx.AsyncClient) -> None:
    answers = await asyncio.gather(
        http.post("/run", json=message("fact one")),
        http.post("/v1/sessions/s/turns", json={"input": "fact two"}),
        http.post("/run_sse", json=message("fact three")),
    )
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert (await _ccs(http))["turn"] == 3


@pytest.mark.parametrize("path", ["/run", "/run_sse"])
async def test_unknown_session_and_app_are_problems(http: httpx.AsyncClient, path: str) -> None:
    unknown = await http.post(path, json={**message("x"), "sessionId": "nobody"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")
    for app in ("nothing", "../secrets", "__adk_agent_builder_assistant_x"):
        response = await http.post(path, json={**message("x"), "appName": app})
        assert response.status_code in {400, 403, 404}
        assert response.headers["content-type"] == "application/problem+json"
        assert "Traceback" not in response.text


async def test_not_json_and_wrong_fields_are_problems(http: httpx.AsyncClient) -> None:
    headers = {"Content-Type": "application/json"}
    broken = await http.post("/run", content="{", headers=headers)
    assert (broken.status_code, broken.json()["code"]) == (400, "invalid_json")
    wrong = await http.post("/run", json={"appName": "acc_ace"})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_request")


async def test_deleting_a_session_deletes_its_memory(http: httpx.AsyncClient) -> None:
    await http.post("/run", json=message(RULE))
    await http.delete(SESSION)
    assert (await http.get("/v1/sessions/s/ccs")).status_code == 404
